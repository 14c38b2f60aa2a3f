/**
 * Where in markdown a text that arrives in pieces stands: inside a fenced block or not, and how many backticks the line has.
 * Decided strictly from left to right, so the answer at a position never depends on what comes later:
 *
 *   ```py          a run of three or more at the start of a line opens a fence at once …
 *   ``` x ```      … and a further backtick on that line takes it back: that was inline code
 *   ```            in a fence, a run at least as long ends it, provisionally …
 *   ```py          … and any other text on that line takes that back
 */
export interface CodeContext {
  /** Backticks seen on this line outside fences. */
  backticks: number
  /** The fence's character, 0 outside. */
  fence: number
  fenceLength: number
  /** The fence was opened on this very line. */
  fresh: boolean
  /** This line ends the fence unless other text follows on it. */
  closing: boolean
  /** Spaces since the line began; -1 once anything else was seen or they are too many. */
  indent: number
  /** Length of the run of fence characters that the line begins with, while it lasts. */
  run: number
  runCharacter: number
}

const newline = 10
const space = 32
const backtick = 96
const tilde = 126

export function createCodeContext(): CodeContext {
  return { backticks: 0, fence: 0, fenceLength: 0, fresh: false, closing: false, indent: 0, run: 0, runCharacter: 0 }
}

/** Inside a fence; its last line counts as inside until the line is over. */
export const isFenced = (context: CodeContext): boolean => context.fence !== 0

/** Reads `text` from `from` up to `to`. */
export function advanceCode(context: CodeContext, text: string, from: number, to: number): void {
  let quiet = context.indent < 0 && context.run === 0 && !context.closing
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (quiet && code !== newline && code !== backtick) continue
    readCharacter(context, code)
    quiet = context.indent < 0 && context.run === 0 && !context.closing
  }
}

function readCharacter(context: CodeContext, code: number): void {
  if (code === newline) startLine(context)
  else if (context.run > 0 && code === context.runCharacter) growRun(context)
  else if (context.indent >= 0 && (code === backtick || code === tilde)) startRun(context, code)
  else if (context.indent >= 0 && code === space && context.indent < 3) context.indent++
  else readInline(context, code)
}

function startLine(context: CodeContext): void {
  if (context.closing) context.fence = 0
  context.backticks = 0
  context.fresh = false
  context.closing = false
  context.indent = 0
  context.run = 0
}

function startRun(context: CodeContext, code: number): void {
  context.indent = -1
  context.run = 0
  context.runCharacter = code
  growRun(context)
}

function growRun(context: CodeContext): void {
  context.run++
  if (context.fence === 0 || context.fresh) {
    if (context.runCharacter === backtick) context.backticks++
    if (context.run < 3) return
    context.fence = context.runCharacter
    context.fenceLength = context.run
    context.fresh = true
  } else if (context.runCharacter === context.fence && context.run >= context.fenceLength) context.closing = true
}

function readInline(context: CodeContext, code: number): void {
  context.indent = -1
  context.run = 0
  if (context.closing) {
    if (!isBlank(code)) context.closing = false
  } else if (code === backtick && (context.fence === 0 || context.fresh)) {
    context.backticks++
    if (context.fence === backtick) {
      context.fence = 0
      context.fresh = false
    }
  }
}

const isBlank = (code: number): boolean => code === space || code === 9 || code === 13

/** A text without the fence that models like to put around it. */
export interface FenceContent {
  readonly body: string
  /** There is more text behind the fence; it is not in the body. */
  readonly textAfter: boolean
}

/** One fence off, on one line or on many. Its end is the last one: the body may hold fences of its own. */
export function stripFence(text: string): FenceContent {
  const trimmed = text.trim()
  const opening = trimmed.startsWith('```') ? /^`{3,}[A-Za-z0-9]*/.exec(trimmed)?.[0] : undefined
  if (opening === undefined) return { body: trimmed, textAfter: false }
  const body = trimmed.slice(opening.length)
  const close = body.lastIndexOf('```')
  if (close === -1) return { body: body.trim(), textAfter: false }
  let end = close
  while (body[end - 1] === '`') end--
  return { body: body.slice(0, end).trim(), textAfter: body.slice(close + 3).trim() !== '' }
}
