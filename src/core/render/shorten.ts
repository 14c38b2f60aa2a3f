// Three ways to make long content short: a preview of a text, the shape of a JSON value, and a JSON value with its long parts cut.

import { roughTokens } from '../estimate/tokens.ts'
import type { Json } from '../json.ts'
import type { Caps } from './caps.ts'
import { cutAt, joinLines, oneLine } from './text.ts'

export interface PreviewOptions {
  readonly what: 'TOOL RESULT' | 'TOOL CALL' | 'ARTIFACT' | 'CODE' | 'INTERNAL NOTE'
  readonly text: string
  /** A text of more characters than this is shown as a preview. */
  readonly limit: number
  /** The path at which the whole text can be read; undefined when it has none. */
  readonly path: string | undefined
  /** The parsed text, if the text is JSON. The preview then also shows its shape. */
  readonly json?: Json | undefined
}

/** Returns a short text as it is. For a long text, returns its size, its shape, its beginning, and how to read the rest. */
export function preview({ what, text, limit, path, json }: PreviewOptions, limits: Caps): string {
  if (text.length <= limit) return text
  const shown = cutAt(text, limit)
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

function countLines(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** The structure of a JSON value without its content. It lets the model ask for the right piece of the value. */
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

/** Adds the lines that describe a value. Returns false when there is no room for more lines. */
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

/** Groups consecutive items that have the same keys. Returns the first item of each group, with a label such as `[0-399]`. */
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
  /** The most characters of a string. */
  readonly text: number
  /** The most items of a list. */
  readonly items: number
  /** The most keys of an object. */
  readonly keys: number
}

const MARK = '...[truncated]'
const MAX_DEPTH = 16

/** Cuts a text that is longer than `limit` characters and puts `mark` after the cut. */
export const cutText = (text: string, limit: number, mark = MARK): string => (text.length <= limit ? text : cutAt(text, limit) + mark)

/**
 * Copies a value and cuts its long strings, lists and objects. A mark shows each cut. A string that starts with `ref:` is an address and
 * is never cut.
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
