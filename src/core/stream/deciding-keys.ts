import { isObject } from '../json.ts'
import { createJsonCollector } from './json/collector.ts'
import type { JsonPath } from './json/event.ts'
import { parseModelJson } from './json/parse.ts'
import { createJsonReader } from './json/reader.ts'

/**
 * Some keys of an action decide which tool is called or where its content is shown. If `path` is the path of such a key, the result is its
 * name, for example `tool_call.tool_id`. For other keys the result is undefined. If the model writes such a key twice with different
 * values, the action is rejected, because it is unclear which value is meant.
 */
export function decidingKey(path: JsonPath): string | undefined {
  const first = path[0]
  if (path.length === 1) return first === 'action' || first === 'tool_call' || first === 'tool_calls' ? first : undefined
  if (first === 'tool_calls') return typeof path[1] === 'number' && path.length > 2 ? listedKey(path[1], path.slice(2)) : undefined
  if (first !== 'tool_call' || path.length > 3) return undefined
  const second = path[1]
  if (path.length === 2) return second === 'tool_id' || second === 'params' ? `tool_call.${second}` : undefined
  const third = path[2]
  return second === 'params' && (third === 'path' || third === 'channel' || third === 'kind') ? `params.${third}` : undefined
}

function listedKey(index: number, path: JsonPath): string | undefined {
  const key = decidingKey(['tool_call', ...path])
  return key === undefined ? undefined : `tool_calls[${index}].${key.replace('tool_call.', '')}`
}

/**
 * The names of the keys that the text of an action contains twice with different values. Only keys for which `decidingKey` returns a name
 * are checked.
 */
export function conflictingKeys(text: string): readonly string[] {
  const reader = createJsonReader()
  const collector = createJsonCollector()
  const first = new Map<string, string>()
  const conflicts = new Set<string>()
  for (const event of [...reader.push(text), ...reader.end()]) {
    const value = collector.push(event)
    const key = value === undefined ? undefined : decidingKey(event.path)
    if (key === undefined) continue
    const written = JSON.stringify(value)
    if (!first.has(key)) first.set(key, written)
    else if (first.get(key) !== written) conflicts.add(key)
  }
  return [...conflicts]
}

/** How many calls one response may have. A response with more is rejected. */
export const maxCalls = 16

/** Whether a list `tool_calls` has a call. A value that is not a list, such as a single call, is treated as a call. */
export const hasCallList = (calls: unknown): boolean =>
  Array.isArray(calls) ? calls.some((call) => !isEmptyCall(call)) : !isEmptyCall(calls)

/** Whether the value of `tool_call` calls no tool: it is missing, null, or an object without tool id and parameters. */
export function isEmptyCall(call: unknown): boolean {
  if (call === undefined || call === null) return true
  if (!isObject(call)) return false
  const { tool_id: toolId, params = null } = call
  const named = typeof toolId === 'string' && toolId.trim() !== ''
  return !named && (params === null || (isObject(params) && Object.keys(params).length === 0))
}

/** Whether the list `tool_calls` in the text of an action is accepted. Also true when the action has no such list. */
export function hasAcceptedCalls(action: string): boolean {
  const parsed = parseModelJson(action)
  const { tool_call: call, tool_calls: list } = parsed.ok && isObject(parsed.value) ? parsed.value : {}
  if (!hasCallList(list)) return true
  const isNamed = (each: unknown) => isObject(each) && typeof each.tool_id === 'string' && each.tool_id.trim() !== ''
  return isEmptyCall(call) && Array.isArray(list) && list.length <= maxCalls && list.every(isNamed)
}
