import { isObject, type Json, parseJson } from '../json.ts'
import { type JsonProblem, parseModelJson } from '../stream/json-parse.ts'
import { createJsonReader } from '../stream/json-reader.ts'

export type ParsedAction =
  | { readonly ok: true; readonly value: Json; readonly repairs: readonly string[]; readonly keys: ActionKeys }
  | { readonly ok: false; readonly error: JsonProblem }

/** An action as the model wrote it: its value, what had to be forgiven, and the order of its keys. */
export function parseAction(text: string): ParsedAction {
  const parsed = parseModelJson(text)
  if (!parsed.ok) return parsed
  const { value, repairs } = parsed
  if (!isObject(value)) return { ok: true, value, repairs, keys: noKeys }
  const keys = repairs.length > 0 ? readActionKeys(text) : (keysOfValue(value, text) ?? scanActionKeys(text))
  return { ok: true, value, repairs, keys }
}

/** What the text of an action says and its value no longer knows. */
export interface ActionKeys {
  /** Names of the parameters in the order of writing, repeated ones included. */
  readonly params: readonly string[]
  /** Names that were written more than once: of the action, of its call as `tool_call.…`, of its parameters as `params.…`. */
  readonly repeated: readonly string[]
}

const noNames: readonly string[] = []

export const noKeys: ActionKeys = { params: noNames, repeated: noNames }

/**
 * Keys of a value as it remembers them, when that is how this valid text wrote them, and undefined when it may not be. As many keys
 * as colons that can end one: none was repeated. No parameter that is a number: they kept their order. Nearly always so.
 */
export function keysOfValue(value: { readonly [key: string]: unknown }, text: string): ActionKeys | undefined {
  if (countKeys(value) !== countKeyEnds(text)) return undefined
  const params = isObject(value.tool_call) ? value.tool_call.params : undefined
  if (!isObject(params)) return noKeys
  const names = Object.keys(params)
  return mayBeSorted(names) ? undefined : { params: names, repeated: noNames }
}

/** At every depth. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) for (const item of value) count += countKeys(item)
  else for (const key in value) count += 1 + countKeys((value as { readonly [key: string]: unknown })[key])
  return count
}

/** Colons behind a quote or a blank. A few of them may stand inside strings, but every key has one. */
function countKeyEnds(text: string): number {
  let count = 0
  for (let colon = text.indexOf(':'); colon !== -1; colon = text.indexOf(':', colon + 1)) {
    const before = text.charCodeAt(colon - 1)
    if (before === 0x22 || before <= 0x20) count++
  }
  return count
}

/** Keys that are numbers come first in an object, wherever they were written. */
function mayBeSorted(keys: readonly string[]): boolean {
  const first = keys[0]?.charCodeAt(0) ?? 0
  return first >= 0x30 && first <= 0x39
}

/** Keys of JSON that needed forgiveness: whatever the reader made of it. */
export function readActionKeys(text: string): ActionKeys {
  const keys = collectKeys()
  const reader = createJsonReader()
  for (const event of [...reader.push(text), ...reader.end()]) {
    const starts = event.type === 'scalar' || event.type.endsWith('.start')
    const key = event.path.at(-1)
    if (starts && typeof key === 'string') keys.add(event.path.length, event.path, key)
  }
  return keys.found()
}

/**
 * The same for valid JSON, with or without a fence, where the reader would cost more than all the rest of reading it. Strings are jumped over; braces, brackets and commas say where the next string is a key.
 */
export function scanActionKeys(text: string): ActionKeys {
  const keys = collectKeys()
  const path: (string | undefined)[] = [] // by depth: the key that is open there; undefined in an array
  let depth = 0
  let keyNext = false
  for (let at = Math.max(0, text.indexOf('{')); at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: {
        const end = findClosingQuote(text, at)
        if (keyNext) {
          const key = decodeKey(text.slice(at + 1, end))
          path[depth - 1] = key
          keys.add(depth, path, key)
          keyNext = false
        }
        at = end
        break
      }
      case 0x7b:
        path[depth++] = ''
        keyNext = true
        break
      case 0x5b:
        path[depth++] = undefined
        keyNext = false
        break
      case 0x7d:
      case 0x5d:
        if (--depth <= 0) return keys.found()
        keyNext = false
        break
      case 0x2c:
        keyNext = path[depth - 1] !== undefined
        break
    }
  }
  return keys.found()
}

function collectKeys() {
  const root: string[] = []
  const toolCall: string[] = []
  const params: string[] = []
  return {
    add(depth: number, path: readonly (string | number | undefined)[], key: string) {
      if (depth === 1) root.push(key)
      else if (path[0] !== 'tool_call') return
      else if (depth === 2) toolCall.push(key)
      else if (depth === 3 && path[1] === 'params') params.push(key)
    },
    found: (): ActionKeys => ({
      params,
      repeated: [
        ...repeatedNames(root),
        ...repeatedNames(toolCall).map((key) => `tool_call.${key}`),
        ...repeatedNames(params).map((key) => `params.${key}`),
      ],
    }),
  }
}

function repeatedNames(keys: readonly string[]): readonly string[] {
  const once = new Set<string>()
  const again = new Set<string>()
  for (const key of keys) (once.has(key) ? again : once).add(key)
  return [...again]
}

/** The quote that ends the string opened at `from`: one that no odd run of backslashes precedes. */
function findClosingQuote(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return end
  }
  return text.length
}

function decodeKey(written: string): string {
  const key = written.includes('\\') ? parseJson(`"${written}"`) : undefined
  return typeof key === 'string' ? key : written
}
