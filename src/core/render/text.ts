import type { Block } from '../block/block.ts'
import type { Caps } from './caps.ts'
import type { TextPart } from './types.ts'

export const textPart = (text: string): TextPart => ({ type: 'text', text })

/** Joins the lines that are there; undefined ones leave no empty line. */
export function joinLines(...lines: readonly (string | undefined)[]): string {
  let text: string | undefined
  for (const line of lines) if (line !== undefined) text = text === undefined ? line : `${text}\n${line}`
  return text ?? ''
}

/** The text on one line, at most `limit` characters: a name or an id with line breaks could otherwise imitate a heading of the prompt. */
export function oneLine(text: string, limit: number): string {
  if (text.length <= limit && !/\s/.test(text)) return text
  const head = text.length > limit * 2 ? cutAt(text, limit * 2) : text // a long text is cut before its white space is collapsed
  const flat = head.replace(/\s+/g, ' ').trim()
  return flat.length <= limit && head.length === text.length ? flat : `${cutAt(flat, limit - 1)}…`
}

/** The block's logical path as a prompt shows it; undefined when it has none. */
export const shownPath = ({ path }: Pick<Block, 'path'>, limits: Pick<Caps, 'path'>): string | undefined =>
  path === undefined ? undefined : oneLine(path, limits.path)

/** The text, or its first `limit` characters and how to read the rest. */
export function clip(text: string, limit: number, path?: string): string {
  if (text.length <= limit) return text
  const rest = path === undefined ? '' : `; the whole: react.read(["${path}"])`
  return `${cutAt(text, limit)}\n...[truncated, ${limit} of ${text.length} characters shown${rest}]`
}

/** The first `limit` UTF-16 units; a surrogate pair is never split. */
export function cutAt(text: string, limit: number): string {
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}

/** As many of the last lines as fit into `maxChars`. */
export function lastLinesWithin(lines: readonly string[], maxChars: number): readonly string[] {
  let length = 0
  let first = lines.length
  while (first > 0 && length + (lines[first - 1] as string).length + 1 <= maxChars) {
    first--
    length += (lines[first] as string).length + 1
  }
  return lines.slice(first)
}
