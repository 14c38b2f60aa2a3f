import { cutAt, isInsidePair } from '../../core/cut.ts'
import type { TokenCounter } from '../../core/estimate/tokens.ts'
import { splitLines } from '../../core/patch/hunk.ts'
import type { Numbering, Range, ReadRequest } from './request.ts'

/** How much the model sees of one path. The limits apply to each path separately. */
export interface ReadLimits {
  readonly symbols: number
  readonly tokens: number
  readonly bytes: number
}

export const readLimits: ReadLimits = { symbols: 48_000, tokens: 12_000, bytes: 10 * 1024 * 1024 }

/** The text that the model sees. It is complete, or a part with its position and the call that reads the next part. */
interface TextView {
  readonly text: string
  /** True when the limits cut a part that was requested. */
  readonly truncated: boolean
  /** True when the text differs from the original, because it is a part or has line numbers. */
  readonly partial: boolean
  readonly range?: { readonly [key: string]: number }
}

/**
 * How many characters are reserved for the header and the footer of a shown part. The header and the footer also contain the path, whose
 * length is not included in this number.
 */
const labelLength = 700

/** Applies the requested range and the limits to a text. */
export function showText(
  text: string,
  request: ReadRequest & { readonly path: string },
  limits: ReadLimits,
  tokens: TokenCounter,
): TextView {
  const { range, numbering } = request
  if (range?.unit === 'symbols') return symbolWindow(text, request.path, range, limits, tokens)
  const cap = Math.min(limits.symbols, request.maxSymbols ?? limits.symbols)
  if (!range && text.length <= cap && (text.length <= limits.tokens || tokens(text) <= limits.tokens)) {
    const plain = numbering === 'default' || numbering === 'disabled'
    return { text: plain ? text : numberLines(linesOf(text), numbering).join('\n'), truncated: false, partial: !plain }
  }
  return lineWindow(text, request, cap, limits, tokens)
}

/** The lines of a text. A newline at the end of the text does not begin another line. */
export const linesOf = (text: string): readonly string[] => splitLines(text, { uniform: false }).lines

/** Shows complete lines of a text. */
function lineWindow(
  text: string,
  { path, range, numbering }: ReadRequest & { readonly path: string },
  cap: number,
  limits: ReadLimits,
  tokens: TokenCounter,
): TextView {
  const lines = linesOf(text)
  const first = Math.min(range?.start ?? 1, lines.length) // 0 when there are no lines
  const from = Math.max(0, first - 1)
  const requested = lines.slice(from, range?.count === undefined ? undefined : from + range.count)
  const numbers = numbering === 'default' ? 'lines' : numbering
  const body = withinLimits(cap - labelLength - 2 * path.length, limits, tokens, (room) => fitLines(requested, first, numbers, room))
  return labelLines(body, { text, path, lines, first, requested: requested.length, isRange: range !== undefined, numbering })
}

/**
 * Makes the longest body that fits into the limits of characters and tokens. The body is the text between the header and the footer.
 * `makeBody(room)` makes a body of at most `room` characters.
 */
function withinLimits<T extends { readonly text: string }>(
  symbols: number,
  limits: ReadLimits,
  tokens: TokenCounter,
  makeBody: (room: number) => T,
): T {
  let room = Math.max(1, symbols)
  for (;;) {
    const body = makeBody(room)
    const spent = tokens(body.text)
    if (spent <= limits.tokens || room <= 200) return body
    room = Math.floor(room * Math.min(0.95, (limits.tokens / spent) * 0.98))
  }
}

interface LinesBody {
  readonly text: string
  readonly count: number
  /** How many characters of the first line are shown, if this line alone is too long. */
  readonly partialLine?: number
}

/** As many complete lines as fit into `room` characters. If the first line alone is too long, the result is the beginning of this line. */
function fitLines(lines: readonly string[], first: number, numbering: Numbering, room: number): LinesBody {
  const shown: string[] = []
  let size = 0
  for (const [index, line] of lines.entries()) {
    const numbered = lineNumber(first + index, index === 0, numbering) + line
    size += numbered.length + 1
    if (size > room) break
    shown.push(numbered)
  }
  if (shown.length > 0 || lines.length === 0) return { text: shown.join('\n'), count: shown.length }
  const number = lineNumber(first, true, numbering)
  const part = cutToCharacter(lines[0] ?? '', room - number.length)
  return { text: number + part, count: 1, partialLine: part.length }
}

interface LinesPosition {
  readonly text: string
  readonly path: string
  readonly lines: readonly string[]
  readonly first: number
  readonly requested: number
  readonly isRange: boolean
  readonly numbering: Numbering
}

function labelLines({ text: body, count, partialLine }: LinesBody, position: LinesPosition): TextView {
  const { text, path, lines, first, requested, isRange, numbering } = position
  const last = Math.max(0, first + count - 1)
  const truncated = count < requested || partialLine !== undefined
  const head = [
    isRange ? '[READ RANGE]' : '[READ PREVIEW]',
    `path: ${path}`,
    `lines: [${first}-${last}]/${lines.length}`,
    `partial_line: ${partialLine !== undefined}`,
  ]
  const next =
    partialLine === undefined
      ? { path, line_start: last + 1, line_count: Math.min(Math.max(count, 1), lines.length - last), ...numberingItem(numbering) }
      : { path, offset_text_symbols: offsetOf(lines, first - 1) + partialLine, max_text_symbols: 20_000 }
  const rest = Math.max(0, text.length - offsetOf(lines, last))
  const foot = [`omitted: ${lines.length - last} lines, ${rest} symbols`, `continue: ${readCall(path, next)}`]
  return {
    text: [...head, body, ...(truncated || last < lines.length ? foot : [])].join('\n'),
    truncated,
    partial: true,
    range: { line_start: first, line_count: count, total_lines: lines.length },
  }
}

/** The offset at which the line with this index begins. */
const offsetOf = (lines: readonly string[], index: number) => lines.slice(0, index).reduce((sum, line) => sum + line.length + 1, 0)

/**
 * The parameter `line_numbers` for the call that reads the next part. It is left out if all lines are to be numbered, because `react.read`
 * does this by default when it shows a part.
 */
const numberingItem = (numbering: Numbering) => (numbering === 'disabled' || numbering === 'sparsed' ? { line_numbers: numbering } : {})

const readCall = (path: string, item: object) => `react.read(${JSON.stringify({ paths: [path], items: [item] })})`

/** Shows a range of characters. It never begins or ends inside a surrogate pair, and contains at least one character. */
function symbolWindow(text: string, path: string, range: Range, limits: ReadLimits, tokens: TokenCounter): TextView {
  const offset = Math.min(range.start, text.length)
  const start = isInsidePair(text, offset) ? offset - 1 : offset
  const room = Math.max(1, limits.symbols - labelLength - 2 * path.length)
  const requested = cutToCharacter(text.slice(start), offset - start + (range.count ?? room))
  const { text: shown } = withinLimits(room, limits, tokens, (size) => ({ text: cutToCharacter(requested, size) }))
  const end = start + shown.length
  const head = ['[READ RANGE]', `path: ${path}`, `symbols: [${start}-${end}]/${text.length}`]
  const next = { path, offset_text_symbols: end, max_text_symbols: Math.min(room, Math.max(1, text.length - end)) }
  const foot = [`omitted: ${text.length - end} symbols`, `continue: ${readCall(path, next)}`]
  return {
    text: [...head, shown, ...(end < text.length ? foot : [])].join('\n'),
    truncated: shown.length < requested.length,
    partial: true,
    range: { offset_text_symbols: start, text_symbols: shown.length, total_text_symbols: text.length },
  }
}

/** The beginning of a text: at most `length` UTF-16 units, but at least one character. No surrogate pair is split. */
function cutToCharacter(text: string, length: number): string {
  return cutAt(text, Math.max(1, length)) || text.slice(0, 2) // the first character may be a surrogate pair
}

function numberLines(lines: readonly string[], numbering: Numbering): readonly string[] {
  return lines.map((line, index) => lineNumber(index + 1, index === 0, numbering) + line)
}

function lineNumber(number: number, isFirst: boolean, numbering: Numbering): string {
  if (numbering === 'disabled') return ''
  return numbering === 'lines' || isFirst || number % 10 === 0 ? `${String(number).padStart(6)}\t` : '      \t'
}
