import type { TextPart } from './types.ts'

export const textPart = (text: string): TextPart => ({ type: 'text', text })

/** The lines there are: what a block lacks leaves no empty line behind. */
export function joinLines(...given: readonly (string | undefined)[]): string {
  let text: string | undefined
  for (const line of given) if (line !== undefined) text = text === undefined ? line : `${text}\n${line}`
  return text ?? ''
}

/** One line, however it was written: names, ids and titles must not be able to draw headings of their own. */
export function oneLine(text: string, limit: number): string {
  const head = text.length > limit * 2 ? cutAt(text, limit * 2) : text // a megabyte is not worth collapsing
  const flat = isFlat(head) ? head : head.replace(/\s+/g, ' ').trim()
  return flat.length <= limit && head.length === text.length ? flat : `${cutAt(flat, limit - 1)}…`
}

/** Words with one space between them, as most names are. ASCII is told at a glance. */
function isFlat(text: string): boolean {
  let afterSpace = true
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 32 || code > 126) return !ragged.test(text)
    if (code === 32 && afterSpace) return false
    afterSpace = code === 32
  }
  return !afterSpace || text === ''
}

const ragged = /[^\S ]|\s\s|^\s|\s$/

/** The text, or its beginning and word of where the rest is. */
export function clip(text: string, limit: number, path?: string): string {
  if (text.length <= limit) return text
  const rest = path === undefined ? '' : `; the whole: react.read(["${path}"])`
  return `${cutAt(text, limit)}\n...[truncated, ${limit} of ${text.length} characters shown${rest}]`
}

/** The first `limit` units, never half a character. */
export function cutAt(text: string, limit: number): string {
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}

/** The last of the lines, as many as fit into so many characters. */
export function lastLinesWithin(lines: readonly string[], maxChars: number): readonly string[] {
  let length = 0
  let first = lines.length
  while (first > 0 && length + (lines[first - 1] as string).length + 1 <= maxChars) {
    first--
    length += (lines[first] as string).length + 1
  }
  return lines.slice(first)
}
