import { cutAt, cutBetween } from '../../cut.ts'
import { createJsonCollector } from './collector.ts'
import { type JsonPath, type JsonRepair, type JsonValue, maxJsonDepth } from './event.ts'
import { createJsonReader, type ReaderProblem } from './reader.ts'

/** Why a text could not be parsed. */
export interface JsonProblem {
  /** `json.multiple` means that the text contains several objects, so it is unclear which one is meant. */
  readonly code: ReaderProblem['code'] | 'json.multiple'
  /** A message for the model, of at most 500 characters. */
  readonly message: string
  /** The text around `offset`, with at most 1800 characters. */
  readonly excerpt: string
  readonly offset: number
  /** The path of the value at which the reader stopped. */
  readonly path: JsonPath
  /** The number of objects in the text. Set only for `json.multiple`. */
  readonly count?: number
}

/** The parsed value and the mistakes that were corrected in it, or why the text can not be parsed. */
export type ParsedJson =
  | { readonly ok: true; readonly value: JsonValue; readonly repairs: readonly JsonRepair[] }
  | { readonly ok: false; readonly error: JsonProblem }

/**
 * Parses JSON as models write it. It tries JSON.parse on the text without its code fence, then on the text from the first to the last
 * brace. Then it tries the tolerant reader. If a lane has shown a string of this JSON to the user, the result has exactly this string.
 */
export function parseModelJson(text: string): ParsedJson {
  const { body, textAfter } = stripFence(text)
  const whole = parse(body)
  if (isContainer(whole)) return accept(text, whole, textAfter ? ['surrounding_text'] : [])
  const inner = parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
  if (isContainer(inner)) return accept(text, inner, ['surrounding_text'])
  const read = readLeniently(text)
  return !read.ok && whole !== undefined ? accept(text, whole, []) : read
}

/** The text inside a code fence. */
interface FenceContent {
  readonly body: string
  /** True when text follows after the fence. `body` does not contain this text. */
  readonly textAfter: boolean
}

/**
 * Removes the code fence that models often put around JSON, on one line or on several. The last three backticks of the text close the
 * fence, because the JSON may contain code fences too.
 */
export function stripFence(text: string): FenceContent {
  const trimmed = text.trim()
  const opening = trimmed.startsWith('```') ? /^`{3,}[A-Za-z0-9]*/.exec(trimmed)?.[0] : undefined
  if (opening === undefined) return { body: trimmed, textAfter: false }
  const body = trimmed.slice(opening.length)
  const close = body.lastIndexOf('```')
  if (close === -1) return { body: body.trim(), textAfter: false }
  let end = close
  while (body[end - 1] === '`') end--
  return { body: body.slice(0, end).trim(), textAfter: body.slice(close + 3).trim() !== '' }
}

/** Applies the rules of the tolerant reader to a value of JSON.parse: limits its depth, and replaces halves of surrogate pairs. */
function accept(text: string, value: JsonValue, repairs: readonly JsonRepair[]): ParsedJson {
  // Each level has two brackets, so a shorter text can not be too deep.
  if (text.length > 2 * maxJsonDepth && isDeeperThan(value, maxJsonDepth)) return readLeniently(text)
  return { ok: true, value: mayHoldLoneSurrogates(text) ? wellFormed(value) : value, repairs }
}

function readLeniently(text: string): ParsedJson {
  const reader = createJsonReader()
  const collector = createJsonCollector()
  let value: JsonValue | undefined
  for (const event of reader.push(text)) value = collector.push(event)
  reader.end()
  const { problem } = reader
  if (problem !== undefined) return { ok: false, error: diagnose(text, problem) }
  const { from = 0, to = text.length } = reader.span
  const more = countObjects(text, to)
  if (more > 0) return { ok: false, error: diagnose(text, { code: 'json.multiple', offset: to, path: [], count: more + 1 }) }
  const alone = /^\s*(?:`{3,}[A-Za-z0-9]*\s*)?$/.test(text.slice(0, from)) && /^\s*(?:`{3,}\s*)?$/.test(text.slice(to))
  return { ok: true, value: value as JsonValue, repairs: alone ? [...reader.repairs] : ['surrounding_text', ...reader.repairs] }
}

/** Counts up to a hundred objects in the text from offset `after` on. `{}` is not counted, because it is probably not meant as JSON. */
function countObjects(text: string, after: number): number {
  let count = 0
  let start = text.indexOf('{', after)
  for (let attempt = 0; attempt < 100 && start !== -1; attempt++) {
    const reader = createJsonReader()
    reader.push(text.slice(start))
    reader.end()
    const { from = 0, to } = reader.span
    if (to === undefined) break
    if (to - from > 2) count++
    start = text.indexOf('{', start + to)
  }
  return count
}

/** Returns undefined for invalid JSON, where JSON.parse throws. */
function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined // the tolerant reader reports the problem and its path
  }
}

function diagnose(text: string, problem: Omit<JsonProblem, 'message' | 'excerpt'>): JsonProblem {
  const { code, offset, path, count } = problem
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  const place = `at offset ${offset} (line ${line}, column ${column})${path.length === 0 ? '' : `, in ${path.join('.')}`}`
  const messages: Readonly<Record<JsonProblem['code'], string>> = {
    'json.missing': 'There is no JSON object in the text.',
    'json.unexpected': `Unexpected ${JSON.stringify(cutBetween(text, offset, offset + 20))} ${place}.`,
    'json.unfinished': `The text ends before the JSON does, ${place}.`,
    'json.too_deep': `The JSON is nested deeper than ${maxJsonDepth} levels, ${cutAt(place, 200)}.`,
    'json.multiple': `There are ${count} JSON objects in the text; write exactly one.`,
  }
  return {
    ...problem,
    message: replaceLoneSurrogates(cutAt(messages[code], 500)),
    excerpt: replaceLoneSurrogates(cutBetween(text, offset - 900, offset + 900)),
  }
}

function isContainer(value: JsonValue | undefined): value is Exclude<JsonValue, string | number | boolean | null> {
  return typeof value === 'object' && value !== null
}

function isDeeperThan(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const key in value) if (isDeeperThan((value as { readonly [key: string]: JsonValue })[key] as JsonValue, levels - 1)) return true
  return false
}

const anySurrogate = /[\ud800-\udfff]/
const loneSurrogate = /\\u[dD][89a-fA-F]|\p{Surrogate}/u

/**
 * Whether the text may contain half of a surrogate pair, escaped or not. The first two tests are fast. For most texts both are false, and
 * the third test does not run.
 */
function mayHoldLoneSurrogates(text: string): boolean {
  return (text.includes('\\u') || anySurrogate.test(text)) && loneSurrogate.test(text)
}

function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return replaceLoneSurrogates(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(wellFormed)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [replaceLoneSurrogates(key), wellFormed(inner as JsonValue)]))
}

function replaceLoneSurrogates(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD')
}
