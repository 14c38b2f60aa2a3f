import type { TextPart } from './part.ts'

export const textPart = (text: string): TextPart => ({ type: 'text', text })

/** The lines there are: what a block lacks leaves no empty line behind. */
export function lines(...given: readonly (string | undefined)[]): string {
  let text: string | undefined
  for (const line of given) if (line !== undefined) text = text === undefined ? line : `${text}\n${line}`
  return text ?? ''
}

/** One line, however it was written: names, ids and titles must not be able to draw headings of their own. */
export function oneLine(text: string, limit: number): string {
  const head = text.length > limit * 2 ? cutAt(text, limit * 2) : text // a megabyte is not worth collapsing
  const flat = ragged.test(head) ? head.replace(/\s+/g, ' ').trim() : head
  return flat.length <= limit && head.length === text.length ? flat : `${cutAt(flat, limit - 1)}…`
}

/** Anything but words with one space between them; most names are just that. */
const ragged = /[^\S ]|\s\s|^\s|\s$/

/** The text, or its beginning and word of where the rest is. */
export function clipped(text: string, limit: number, path?: string): string {
  if (text.length <= limit) return text
  const rest = path === undefined ? '' : `; the whole: react.read(["${path}"])`
  return `${cutAt(text, limit)}\n...[truncated, ${limit} of ${text.length} characters shown${rest}]`
}

/** The first `limit` units, never half a character. */
export function cutAt(text: string, limit: number): string {
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}
