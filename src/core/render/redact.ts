import { isObject, type Json, parseJson } from '../json.ts'
import { unsafeReason } from '../path/safety.ts'

/** Shorter runs may be keys, hashes or long words. */
const shortestRun = 2_048
/** Shorter lines may be anything. */
const shortestLine = 60
const separator = /^(?:\r?\n|\\r\\n|\\n)$/ // the escaped forms stand inside JSON strings

/**
 * Bytes that a tool printed as base64, taken out of a text: they cost thousands of tokens and no model can read them. One run, or
 * consecutive lines of 60 characters and more, of 2,048 characters altogether.
 */
export function scrubBase64(text: string): string {
  if (text.length < shortestRun) return text
  const found = base64Groups(text).filter(({ length }) => length >= shortestRun)
  if (found.length === 0) return text
  let kept = ''
  let from = 0
  for (const { start, end, length } of found) {
    kept += text.slice(from, start) + base64Marker(length)
    from = end
  }
  return kept + text.slice(from)
}

const base64Marker = (length: number) =>
  `[base64 removed: ${length} characters, about ${Math.floor((length * 3) / 4)} bytes; pass the file by its path, never its bytes]`

interface Base64Group {
  readonly start: number
  end: number
  length: number
}

function base64Groups(text: string): readonly Base64Group[] {
  const all: Base64Group[] = []
  for (const { start, end } of longRuns(text)) {
    const open = all.at(-1)
    if (open && start - open.end <= 4 && separator.test(text.slice(open.end, start))) {
      open.end = end
      open.length += end - start
    } else all.push({ start, end, length: end - start })
  }
  return all
}

/** A run of 60 covers every 60th character at least once: only those are looked at, which makes prose nearly free. */
function* longRuns(text: string): Generator<{ readonly start: number; readonly end: number }> {
  let floor = 0
  for (let probe = shortestLine - 1; probe < text.length; probe += shortestLine) {
    if (!isBase64(text, probe)) continue
    let start = probe
    let end = probe + 1
    while (start > floor && isBase64(text, start - 1)) start--
    while (isBase64(text, end)) end++
    if (start > 0 && text[start - 1] === '\\' && 'nrt'.includes(text[start] as string)) start++ // the n of an escaped line end
    if (end - start < shortestLine) continue
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

/** Seeds 001 and 003: where a file is hosted is nobody's business but the runtime's. */
const hostingFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'managed'])

const isAbsolutePhysicalPath = (field: string, value: unknown) =>
  field === 'physical_path' && typeof value === 'string' && unsafeReason(value) !== undefined

/** For what the runtime itself wrote as JSON: no hosting field has any business there. */
export function omitHostingFields(field: string, value: unknown): unknown {
  return hostingFields.has(field) || isAbsolutePhysicalPath(field, value) ? undefined : value
}

const mayHoldHandles = /"(?:hosted_uri|rn|local_path|physical_path)"/

/**
 * The same JSON text without handles. No tool should have put any there; this is for those that did. A `key` alone may be anything,
 * so it only goes from an object that also says where it is hosted.
 */
export function stripHostingHandles(text: string): string {
  const value = mayHoldHandles.test(text) ? parseJson(text) : undefined
  return value === undefined ? text : JSON.stringify(value, dropHandles)
}

function dropHandles(this: unknown, field: string, value: Json): Json | undefined {
  if (field === 'local_path' || field === 'hosted_uri' || isAbsolutePhysicalPath(field, value)) return undefined
  const hosted = isObject(this) && (this.hosted_uri !== undefined || typeof this.rn === 'string')
  return hosted && hostingFields.has(field) ? undefined : value
}
