import type { Block } from '../block/block.ts'
import { cutAt } from '../cut.ts'
import { roughTokens } from '../estimate/tokens.ts'
import type { Json } from '../json.ts'
import { shortSourcesPath } from '../path/build.ts'
import { parsePath } from '../path/logical.ts'
import type { Caps } from './caps.ts'
import { guardHeadings } from './headings.ts'
import type { TextPart } from './types.ts'

export const textPart = (text: string): TextPart => ({ type: 'text', text })

/** Joins the lines. An undefined line is skipped and leaves no empty line. */
export function joinLines(...lines: readonly (string | undefined)[]): string {
  let text: string | undefined
  for (const line of lines) if (line !== undefined) text = text === undefined ? line : `${text}\n${line}`
  return text ?? ''
}

/**
 * Puts a text on one line of at most `limit` characters. Without this, a name or id that contains line breaks could imitate a heading of
 * the prompt.
 */
export function oneLine(text: string, limit: number): string {
  if (text.length <= limit && !/\s/.test(text)) return text
  // Cut a long text before its white space is collapsed, because collapsing all of it would take long.
  const head = text.length > limit * 2 ? cutAt(text, limit * 2) : text
  const flat = head.replace(/\s+/g, ' ').trim()
  return flat.length <= limit && head.length === text.length ? flat : `${cutAt(flat, limit - 1)}…`
}

/** The logical path of a block as a prompt shows it. Undefined when the block has no path. */
export const shownPath = ({ path }: Pick<Block, 'path'>, limits: Pick<Caps, 'path'>): string | undefined =>
  path === undefined ? undefined : pathWithin(path, limits.path)

/**
 * A path in at most `limit` characters. A path to several sources is not cut: it becomes a path to a range of sources, because `react.read`
 * could not parse a cut list.
 */
export function pathWithin(path: string, limit: number): string {
  if (path.length <= limit || !path.startsWith('so:')) return oneLine(path, limit)
  const parsed = parsePath(path)
  return parsed?.space === 'so' && parsed.sids.length > 0 ? oneLine(shortSourcesPath(parsed.sids, limit), limit) : oneLine(path, limit)
}

/**
 * Prepares a text from outside for the prompt. A backslash is put before each line that imitates a heading. A text with more than `limit`
 * characters is cut, and a line after the cut says how to read the whole text.
 */
export function clip(text: string, limit: number, path?: string): string {
  const shown = guardHeadings(text.length <= limit ? text : cutAt(text, limit))
  if (text.length <= limit && shown.length <= limit) return shown
  const rest = path === undefined ? '' : `; the whole: react.read(["${path}"])`
  return `${cutAt(shown, limit)}\n...[truncated, ${limit} of ${text.length} characters shown${rest}]`
}

/** The last lines, as many as fit into `maxChars` characters. */
export const lastLinesWithin = (lines: readonly string[], maxChars: number): readonly string[] =>
  lastWithin(lines, maxChars, (line) => line.length + 1)

/** The last items whose sizes add up to at most `max`. */
export function lastWithin<T>(items: readonly T[], max: number, sizeOf: (item: T) => number): readonly T[] {
  let size = 0
  let first = items.length
  while (first > 0) {
    size += sizeOf(items[first - 1] as T)
    if (size > max) break
    first--
  }
  return items.slice(first)
}

// The next functions shorten long content. `preview` shortens a text, `shapeOf` describes the structure of a JSON value, and `shortenJson`
// cuts the long parts of a JSON value.

interface PreviewOptions {
  readonly what: 'TOOL RESULT' | 'TOOL CALL' | 'ARTIFACT' | 'CODE' | 'INTERNAL NOTE'
  readonly text: string
  /** A text with more characters than this is shown as a preview. */
  readonly limit: number
  /** The path at which the model can read the whole text. Undefined when there is none. */
  readonly path: string | undefined
  /** The parsed text, if the text is JSON. The preview then also shows the shape of the value. */
  readonly json?: Json | undefined
}

/** Returns a short text whole. For a long text, returns its size, its shape, its beginning, and how to read the whole text. */
export function preview({ what, text, limit, path, json }: PreviewOptions, limits: Caps): string {
  const guarded = guardHeadings(text.length <= limit ? text : cutAt(text, limit))
  if (text.length <= limit && guarded.length <= limit) return guarded
  const shown = cutAt(guarded, limit)
  return joinLines(
    `[${what} PREVIEW TRUNCATED]`,
    `full_text_chars: ${text.length}`,
    `full_text_bytes: ${byteLength(text)}`,
    `tokens_estimate: ${roughTokens(text)}`,
    `visible_preview_chars: ${shown.length}`,
    `preview_lines: [1-${countLines(shown)}]/${countLines(text)}`,
    json === undefined ? undefined : `shape:\n${shapeOf(json, limits)}`,
    `preview:\n${shown}`,
    '...[truncated]',
    path === undefined ? undefined : `recovery:\n- react.read(["${path}"]) for the content, whole or by range`,
  )
}

const encoder = new TextEncoder()

const byteLength = (text: string) => encoder.encode(text).length

/** The number of lines. A newline at the end of the text does not begin another line. */
function countLines(text: string): number {
  let count = text === '' || text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}

/**
 * Describes the structure of a JSON value: keys, types and sizes. From this description the model knows which piece of the value it can ask
 * for.
 */
export function shapeOf(value: Json, limits: Caps): string {
  const lines: string[] = []
  let size = 0
  const add = (line: string) => {
    size += line.length + 1
    if (size <= limits.shape) lines.push(line)
    return size <= limits.shape
  }
  describe(value, '', '', 1, limits, add)
  return cutAt(lines.join('\n'), limits.shape)
}

/** Adds the lines that describe a value. Returns false when the limit for the whole description is reached. */
function describe(value: Json, label: string, indent: string, depth: number, limits: Caps, add: (line: string) => boolean): boolean {
  if (!add(`${indent}${label}${kindOf(value)}`)) return false
  if (typeof value !== 'object' || value === null || depth >= limits.shapeDepth) return true
  const entries = Array.isArray(value) ? groupAlike(value) : Object.entries(value)
  for (const [key, item] of entries.slice(0, limits.shapeItems)) {
    if (!describe(item, `${oneLine(key, 60)}: `, `${indent}  `, depth + 1, limits, add)) return false
  }
  const more = entries.length - limits.shapeItems
  return more <= 0 || add(`${indent}  ... ${more} more`)
}

/** Groups consecutive items that have the same keys. Returns the first item of each group with a label such as `[0-399]`. */
function groupAlike(items: readonly Json[]): readonly (readonly [label: string, first: Json])[] {
  const groups: { from: number; to: number; structure: string }[] = []
  items.forEach((item, index) => {
    const structure = structureOf(item)
    const open = groups.at(-1)
    if (open?.structure === structure) open.to = index
    else groups.push({ from: index, to: index, structure })
  })
  return groups.map(({ from, to }) => [from === to ? `[${from}]` : `[${from}-${to}]`, items[from] as Json])
}

function structureOf(value: Json): string {
  if (typeof value !== 'object' || value === null) return typeof value
  return Array.isArray(value) ? 'list' : JSON.stringify(Object.keys(value))
}

function kindOf(value: Json): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return `str[${value.length}]`
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  return Array.isArray(value) ? `list[${value.length}]` : `dict[${Object.keys(value).length}]`
}

export interface ShortenLimits {
  /** The highest number of characters in a string. */
  readonly text: number
  /** The highest number of items in a list. */
  readonly items: number
  /** The highest number of keys in an object. */
  readonly keys: number
}

const MARK = '...[truncated]'

const MAX_DEPTH = 16

/** Cuts a text that is longer than `limit` characters and puts `mark` after the cut. */
export const cutText = (text: string, limit: number, mark = MARK): string => (text.length <= limit ? text : cutAt(text, limit) + mark)

/**
 * Copies a value and cuts its long strings, lists and objects. Each cut is shown by a text such as `...[truncated]`. A string that starts
 * with `ref:` is a reference and is never cut, because a part of a path refers to nothing.
 */
export function shortenJson(value: Json, limits: ShortenLimits): { readonly value: Json; readonly truncated: boolean } {
  let truncated = false
  const cut = (shorter: Json): Json => {
    truncated = true
    return shorter
  }
  const shorten = (given: Json, depth: number): Json => {
    if (typeof given === 'string') return given.length <= limits.text || given.startsWith('ref:') ? given : cut(cutText(given, limits.text))
    if (typeof given !== 'object' || given === null) return given
    if (depth === MAX_DEPTH) return cut(MARK)
    if (Array.isArray(given)) {
      const items = given.slice(0, limits.items).map((item: Json) => shorten(item, depth + 1))
      return given.length > limits.items ? cut([...items, `... (${given.length - limits.items} more)`]) : items
    }
    const entries = Object.entries(given)
    const kept = entries.slice(0, limits.keys).map(([key, field]): [string, Json] => [key, shorten(field, depth + 1)])
    const more = entries.length - kept.length
    return Object.fromEntries(more > 0 ? [...kept, ['...', cut(`${more} more keys`)]] : kept)
  }
  const shortened = shorten(value, 0)
  return { value: shortened, truncated }
}

// The next functions remove long base64 texts, which must not reach a model.

/** A shorter run of base64 characters stays in the prompt. It may be a key, a hash or a long word. */
const minRunChars = 2_048

/** A line with fewer characters is not treated as base64. */
const minLineChars = 60

const lineBreak = /^(?:\r?\n|\\r\\n|\\n)$/

// In `lineBreak`, the parts with two backslashes match the escaped line breaks in JSON strings.

/**
 * Replaces bytes that a tool printed as base64. They cost thousands of tokens, and no model can read them. A group of consecutive base64
 * lines is replaced if it has at least `minRunChars` characters in all.
 */
export function scrubBase64(text: string): string {
  if (text.length < minRunChars) return text
  const matches = base64Groups(text).filter(({ length }) => length >= minRunChars)
  if (matches.length === 0) return text
  let scrubbed = ''
  let from = 0
  for (const { start, end, length } of matches) {
    scrubbed += text.slice(from, start) + base64Marker(length)
    from = end
  }
  return scrubbed + text.slice(from)
}

const base64Marker = (length: number) =>
  `[base64 removed: ${length} characters, about ${Math.floor((length * 3) / 4)} bytes; pass the file by its path, never its bytes]`

interface Base64Group {
  readonly start: number
  end: number
  length: number
}

function base64Groups(text: string): readonly Base64Group[] {
  const groups: Base64Group[] = []
  for (const { start, end } of base64Lines(text)) {
    const open = groups.at(-1)
    if (open && start - open.end <= 4 && lineBreak.test(text.slice(open.end, start))) {
      open.end = end
      open.length += end - start
    } else groups.push({ start, end, length: end - start })
  }
  return groups
}

/**
 * Finds lines of base64. It tests only every 60th character, because every line with at least 60 characters contains a tested character.
 */
function* base64Lines(text: string): Generator<{ readonly start: number; readonly end: number }> {
  let floor = 0
  for (let probe = minLineChars - 1; probe < text.length; probe += minLineChars) {
    if (!isBase64(text, probe)) continue
    let start = probe
    let end = probe + 1
    while (start > floor && isBase64(text, start - 1)) start--
    while (isBase64(text, end)) end++
    // In a JSON string, an escaped line break or tab may come before the base64: a backslash and the letter n, r or t. The letter is then
    // not a part of the base64.
    if (start > 0 && text[start - 1] === '\\' && 'nrt'.includes(text[start] as string)) start++
    if (end - start < minLineChars) continue
    while (text[end] === '=' && isPadding(text, end)) end++
    yield { start, end }
    floor = end
    probe = end - 1
  }
}

const isPadding = (text: string, at: number) => text[at - 1] !== '=' || text[at - 2] !== '='

const alphabet = new Uint8Array(128)

for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') alphabet[character.charCodeAt(0)] = 1

const isBase64 = (text: string, at: number) => alphabet[text.charCodeAt(at)] === 1
