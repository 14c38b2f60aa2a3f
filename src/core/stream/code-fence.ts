/**
 * Tracks code fences and backticks in a markdown text that arrives in chunks. The text is read from left to right, so the state at a
 * position does not depend on later text:
 *
 *   ```py          three or more backticks or tildes at the start of a line open a fence at once …
 *   ``` x ```      … but another backtick on the same line makes it inline code
 *   ```            in a fence, at least as many of the same characters close the fence …
 *   ```py          … but not if other text follows on the same line
 */
export interface CodeContext {
  /** The number of backticks on the current line so far. Not counted inside a fence. */
  backticks: number
  /** The code of the character that opened the fence (backtick or tilde); 0 outside of fences. */
  fence: number
  fenceLength: number
  /** True when the current line opened the fence. */
  opening: boolean
  /** True when the current line closes the fence. Becomes false when other text follows on the line. */
  closing: boolean
  /**
   * The number of spaces at the start of the line. -1 when the line can no longer open or close a fence: after another character, or after
   * more than three spaces.
   */
  indent: number
  /** The number of fence characters at the start of the line so far. 0 after another character. */
  run: number
  runCharacter: number
}

const newline = 10
const space = 32
const backtick = 96
const tilde = 126

export function createCodeContext(): CodeContext {
  return { backticks: 0, fence: 0, fenceLength: 0, opening: false, closing: false, indent: 0, run: 0, runCharacter: 0 }
}

/** Whether the position is in a code fence. Also true on the line that closes the fence. */
export const isFenced = (context: CodeContext): boolean => context.fence !== 0

/** Updates the state after the text from index `from` to index `to` (exclusive) was read. */
export function advanceCode(context: CodeContext, text: string, from: number, to: number): void {
  let midLine = isMidLine(context)
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (midLine && code !== newline && code !== backtick) continue // in the middle of a line, only line breaks and backticks matter
    readCharacter(context, code)
    midLine = isMidLine(context)
  }
}

const isMidLine = (context: CodeContext): boolean => context.indent < 0 && context.run === 0 && !context.closing

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
  context.opening = false
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
  if (context.fence === 0 || context.opening) {
    if (context.runCharacter === backtick) context.backticks++
    if (context.run < 3) return
    context.fence = context.runCharacter
    context.fenceLength = context.run
    context.opening = true
  } else if (context.runCharacter === context.fence && context.run >= context.fenceLength) context.closing = true
}

function readInline(context: CodeContext, code: number): void {
  context.indent = -1
  context.run = 0
  if (context.closing) {
    if (!isBlank(code)) context.closing = false
  } else if (code === backtick && (context.fence === 0 || context.opening)) {
    context.backticks++
    if (context.fence === backtick) {
      context.fence = 0
      context.opening = false
    }
  }
}

const isBlank = (code: number): boolean => code === space || code === 9 || code === 13
