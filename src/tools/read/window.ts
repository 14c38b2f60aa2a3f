import type { TokenCounter } from '../../core/estimate/tokens.ts'
import { truncateText } from '../artifacts/payload.ts'
import type { Numbering, Range, ReadRequest } from './request.ts'

/** How much of one path the model is shown. The limits apply to each path separately. */
export interface ReadLimits {
  readonly symbols: number
  readonly tokens: number
  readonly bytes: number
}

/** The default limits. */
export const readLimits: ReadLimits = { symbols: 48_000, tokens: 12_000, bytes: 10 * 1024 * 1024 }

/** The text that the model is shown. It is complete, or a window with its position and the call that reads on. */
interface TextView {
  readonly text: string
  /** True when less is shown than was requested. */
  readonly truncated: boolean
  /** True when the text is not exactly the original, because it is a window or has line numbers. */
  readonly partial: boolean
  readonly range?: { readonly [key: string]: number }
}

/** Characters reserved for the header and footer of a window, without the two copies of the path. */
const labelLength = 700

/** Applies the requested range and the limits to a text. */
export function showText(
  text: string,
  request: ReadRequest & { readonly path: string },
  limits: ReadLimits,
  tokens: TokenCounter,
): TextView {
  const cap = Math.min(limits.symbols, request.maxSymbols ?? limits.symbols)
  const { range, numbering } = request
  if (range?.unit === 'symbols') return symbolWindow(text, request.path, range, limits.symbols)
  if (!range && text.length <= cap && (text.length <= limits.tokens || tokens(text) <= limits.tokens)) {
    const plain = numbering === 'default' || numbering === 'disabled'
    return { text: plain ? text : numberLines(text.split('\n'), 1, numbering).join('\n'), truncated: false, partial: !plain }
  }
  return lineWindow(text, request.path, range, numbering === 'default' ? 'lines' : numbering, { cap, limits, tokens })
}

interface WindowLimits {
  readonly cap: number
  readonly limits: ReadLimits
  readonly tokens: TokenCounter
}

function lineWindow(
  text: string,
  path: string,
  range: Range | undefined,
  numbering: Numbering,
  { cap, limits, tokens }: WindowLimits,
): TextView {
  const lines = text.split('\n')
  const first = Math.min(range?.start ?? 1, lines.length)
  const requested = lines.slice(first - 1, range?.count === undefined ? undefined : first - 1 + range.count)
  let room = Math.max(1, Math.min(cap, limits.symbols) - labelLength - 2 * path.length)
  for (;;) {
    const body = fitLines(numberLines(requested, first, numbering), room)
    const spent = tokens(body.text)
    if (spent <= limits.tokens || room <= 200) return labelWindow(body, { path, lines, first, requested: requested.length, range })
    room = Math.floor(room * Math.min(0.95, (limits.tokens / spent) * 0.98))
  }
}

interface WindowBody {
  readonly text: string
  readonly count: number
  readonly partialLine: boolean
}

/** As many complete lines as fit into `room` characters. If the first line alone is too long, its beginning. */
function fitLines(lines: readonly string[], room: number): WindowBody {
  let [size, count] = [0, 0]
  for (const line of lines) {
    if (size + line.length + 1 > room) break
    size += line.length + 1
    count++
  }
  if (count > 0 || lines.length === 0) return { text: lines.slice(0, count).join('\n'), count, partialLine: false }
  return { text: truncateText(lines[0] ?? '', room), count: 1, partialLine: true }
}

interface WindowPosition {
  readonly path: string
  readonly lines: readonly string[]
  readonly first: number
  readonly requested: number
  readonly range: Range | undefined
}

function labelWindow({ text, count, partialLine }: WindowBody, { path, lines, first, requested, range }: WindowPosition): TextView {
  const last = first + count - 1
  const truncated = count < requested || partialLine
  const head = [
    range ? '[READ RANGE]' : '[READ PREVIEW]',
    `path: ${path}`,
    `lines: [${first}-${last}]/${lines.length}`,
    `partial_line: ${partialLine}`,
  ]
  const next = partialLine
    ? symbolItem(path, lines, first, text.length)
    : { path, line_start: last + 1, line_count: Math.min(Math.max(count, 1), lines.length - last) }
  const rest = lines.slice(last).reduce((sum, line) => sum + line.length + 1, 0)
  const foot = [`omitted: ${lines.length - last} lines, ${rest} symbols`, `continue: ${readCall(path, next)}`]
  return {
    text: [...head, text, ...(truncated || last < lines.length ? foot : [])].join('\n'),
    truncated,
    partial: true,
    range: { line_start: first, line_count: count, total_lines: lines.length },
  }
}

function symbolItem(path: string, lines: readonly string[], first: number, shown: number) {
  const before = lines.slice(0, first - 1).reduce((sum, line) => sum + line.length + 1, 0)
  return { path, offset_text_symbols: before + Math.max(0, shown - 7), max_text_symbols: 20_000 }
}

const readCall = (path: string, item: object) => `react.read(${JSON.stringify({ paths: [path], items: [item] })})`

function symbolWindow(text: string, path: string, range: Range, cap: number): TextView {
  const start = Math.min(range.start, text.length)
  const room = Math.max(1, cap - labelLength - 2 * path.length)
  const requested = Math.min(range.count ?? room, text.length - start)
  const shown = truncateText(text.slice(start, start + requested), room)
  const end = start + shown.length
  const head = ['[READ RANGE]', `path: ${path}`, `symbols: [${start}-${end}]/${text.length}`]
  const next = { path, offset_text_symbols: end, max_text_symbols: Math.min(room, Math.max(1, text.length - end)) }
  const foot = [`omitted: ${text.length - end} symbols`, `continue: ${readCall(path, next)}`]
  return {
    text: [...head, shown, ...(end < text.length ? foot : [])].join('\n'),
    truncated: shown.length < requested,
    partial: true,
    range: { offset_text_symbols: start, text_symbols: shown.length, total_text_symbols: text.length },
  }
}

function numberLines(lines: readonly string[], first: number, numbering: Numbering): readonly string[] {
  if (numbering === 'disabled') return lines
  return lines.map((line, index) => {
    const number = first + index
    const shown = numbering === 'lines' || index === 0 || number % 10 === 0
    return `${shown ? String(number).padStart(6) : '      '}\t${line}`
  })
}
