import type { Json } from '../json.ts'
import { cutAt } from '../render/text.ts'

export interface ShortenLimits {
  readonly text: number
  readonly items: number
  readonly keys: number
}

const MARK = '...[truncated]'
const MAX_DEPTH = 16

/** The first `limit` characters and a mark. */
export const cutText = (text: string, limit: number, mark = MARK): string => (text.length <= limit ? text : cutAt(text, limit) + mark)

/** The same value with long strings, lists and objects cut, each saying what is gone. A `ref:` is an address and stays whole. */
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
