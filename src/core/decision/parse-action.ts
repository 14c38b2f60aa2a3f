import { isObject, type Json } from '../json.ts'
import { type JsonProblem, parseModelJson } from '../stream/json-parse.ts'
import { type ActionKeys, keysOfValue, noKeys, readActionKeys, scanActionKeys } from './action-keys.ts'

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
