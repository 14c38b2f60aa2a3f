// Removes what must not reach a model: long runs of base64, and the handles by which the runtime hosts files.

import { isObject, type Json, parseJson } from '../json.ts'
import { unsafeReason } from '../path/safety.ts'

/** The least number of base64 characters that are removed. A shorter run may be a key, a hash or a long word. */
const minRunChars = 2_048
/** A shorter line is not taken for a line of base64. */
const minLineChars = 60
const lineBreak = /^(?:\r?\n|\\r\\n|\\n)$/ // the escaped forms occur inside JSON strings

/**
 * Replaces bytes that a tool printed as base64. They cost thousands of tokens, and no model can read them. The base64 may be one line,
 * or consecutive lines of at least 60 characters. It has at least 2,048 characters in all.
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

/** Finds lines of base64. Only every 60th character is tested, because a line of at least 60 characters contains one of them. */
function* base64Lines(text: string): Generator<{ readonly start: number; readonly end: number }> {
  let floor = 0
  for (let probe = minLineChars - 1; probe < text.length; probe += minLineChars) {
    if (!isBase64(text, probe)) continue
    let start = probe
    let end = probe + 1
    while (start > floor && isBase64(text, start - 1)) start--
    while (isBase64(text, end)) end++
    // This character belongs to an escaped line break.
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

const hostingFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'managed'])

const isAbsolutePhysicalPath = (field: string, value: unknown) =>
  field === 'physical_path' && typeof value === 'string' && unsafeReason(value) !== undefined

/** A replacer for `JSON.stringify` that drops hosting fields and absolute paths. It is only for records that the runtime wrote. */
export function omitHostingFields(field: string, value: unknown): unknown {
  return hostingFields.has(field) || isAbsolutePhysicalPath(field, value) ? undefined : value
}

const mayHoldHandles = /"(?:hosted_uri|rn|local_path|physical_path)"/

/**
 * Removes hosting handles from the JSON text that a tool returned. A field called `key` may mean anything, so it is removed only from
 * an object that also has a `hosted_uri` or `rn`.
 */
export function stripHostingHandles(text: string): string {
  const value = mayHoldHandles.test(text) ? parseJson(text) : undefined
  return value === undefined ? text : JSON.stringify(value, dropHandles)
}

function dropHandles(this: unknown, field: string, value: Json): Json | undefined {
  if (field === 'local_path' || field === 'hosted_uri' || isAbsolutePhysicalPath(field, value)) return undefined
  const isHosted = isObject(this) && (this.hosted_uri !== undefined || typeof this.rn === 'string')
  return isHosted && hostingFields.has(field) ? undefined : value
}
