import type { Block } from '../block/block.ts'
import type { Caps } from './caps.ts'
import type { TextPart } from './types.ts'

export const textPart = (text: string): TextPart => ({ type: 'text', text })

/** Joins the given lines. An undefined line is left out, without an empty line in its place. */
export function joinLines(...lines: readonly (string | undefined)[]): string {
  let text: string | undefined
  for (const line of lines) if (line !== undefined) text = text === undefined ? line : `${text}\n${line}`
  return text ?? ''
}

/**
 * Puts a text on one line of at most `limit` characters. A name or an id with line breaks could otherwise imitate a heading of the
 * prompt.
 */
export function oneLine(text: string, limit: number): string {
  if (text.length <= limit && !/\s/.test(text)) return text
  // A long text is cut first, because collapsing all of its white space would take long.
  const head = text.length > limit * 2 ? cutAt(text, limit * 2) : text
  const flat = head.replace(/\s+/g, ' ').trim()
  return flat.length <= limit && head.length === text.length ? flat : `${cutAt(flat, limit - 1)}…`
}

/** The logical path of a block as a prompt shows it. Undefined when the block has no path. */
export const shownPath = ({ path }: Pick<Block, 'path'>, limits: Pick<Caps, 'path'>): string | undefined =>
  path === undefined ? undefined : oneLine(path, limits.path)

/** Cuts a text that is longer than `limit` characters, and says after the cut how to read the rest. */
export function clip(text: string, limit: number, path?: string): string {
  if (text.length <= limit) return text
  const rest = path === undefined ? '' : `; the whole: react.read(["${path}"])`
  return `${cutAt(text, limit)}\n...[truncated, ${limit} of ${text.length} characters shown${rest}]`
}

/** The first `limit` UTF-16 units of a text, or one less where the cut would split a surrogate pair. */
export function cutAt(text: string, limit: number): string {
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}

/** The last lines: as many as fit into `maxChars` characters. */
export function lastLinesWithin(lines: readonly string[], maxChars: number): readonly string[] {
  let length = 0
  let first = lines.length
  while (first > 0 && length + (lines[first - 1] as string).length + 1 <= maxChars) {
    first--
    length += (lines[first] as string).length + 1
  }
  return lines.slice(first)
}
