import { deepestJson, isObject, type Json } from '../core/json.ts'
import { presentable } from '../core/secrets.ts'
import type { Outcome, ToolError } from './tool.ts'

/** What `run` may return: the envelope of the seeds, an outcome made below, or anything that JSON can hold. */
export type Returned = Outcome | Envelope | Jsonable | undefined

/** JSON, as it is written in programs: a field that is undefined is left out. */
type Jsonable = Json | readonly Jsonable[] | { readonly [key: string]: Jsonable | undefined }

/** `managed` is the tool's own affair: it never reaches a block. */
export interface Envelope {
  readonly ok: boolean
  readonly error?: (ToolError & { readonly managed?: boolean }) | null
  readonly ret?: Jsonable
}

/** What outcomes are made of: told by it from whatever else a tool returns. A set that remembers each would cost more than the call. */
const made = Object.freeze({})

/** For tools that do more than answer: artifacts, notices, sources, changes of the timeline. */
export function succeeded(outcome: Omit<Outcome, 'ok' | 'error'>): Outcome {
  return marked({ ...outcome, ok: true })
}

export function failed(code: string, message: string, more: Omit<Outcome, 'ok' | 'error'> & Pick<ToolError, 'details'> = {}): Outcome {
  const { details, ...rest } = more
  return marked({ ...rest, ok: false, error: { code, message, ...(details !== undefined && { details }) } })
}

/** An envelope is unwrapped; an object without `ret` is its own answer; anything else is the answer. */
export function outcomeOf(returned: Returned): Outcome {
  if (isOutcome(returned)) return returned
  if (!isObject(returned) || typeof returned.ok !== 'boolean') return answered((returned ?? null) as Json)
  const { ok, error, ret } = returned
  const output = 'ret' in returned ? ((ret ?? null) as Json) : ok ? (returned as Json) : besides(returned)
  if (ok) return succeeded({ ...(output !== undefined && { output }) })
  return marked({ ok: false, error: errorOf(error), ...(output !== undefined && output !== null && { output }) })
}

/** A tool that says `ok` in an object of its own keeps what else it said. */
function besides(returned: { readonly [key: string]: unknown }): Json | undefined {
  const { ok: _ok, error: _error, ...rest } = returned
  return Object.keys(rest).length === 0 ? undefined : (rest as Json)
}

function isOutcome(returned: Returned): returned is Outcome {
  return typeof returned === 'object' && returned !== null && Object.getPrototypeOf(returned) === made
}

/** Often the words of some library that the tool passes on, with whatever they hold. */
function errorOf(error: unknown): ToolError {
  if (typeof error === 'string' && error !== '') return { code: 'tool_error', message: presentable(error) }
  if (!isObject(error)) return { code: 'tool_error', message: 'Tool returned ok=false' }
  const text = (key: string) => (typeof error[key] === 'string' && error[key] !== '' ? (error[key] as string) : undefined)
  const where = text('where')
  return {
    code: text('code') ?? 'tool_error',
    message: presentable(text('message') ?? 'Tool returned ok=false'),
    ...(where !== undefined && { where }),
    ...(error.details !== undefined && { details: unmanaged(error.details) as Json }),
    ...(typeof error.retryable === 'boolean' && { retryable: error.retryable }),
  }
}

/** Whether a tool has dealt with its error is its own affair, however deep it says so. */
function unmanaged(value: unknown, depth = 0): unknown {
  if (depth > deepestJson) return value // no JSON: it is refused where it would be entered
  if (Array.isArray(value)) return value.map((inner) => unmanaged(inner, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (key === 'managed' ? [] : [[key, unmanaged(inner, depth + 1)]])),
  )
}

const marked = (outcome: Outcome): Outcome => Object.assign(Object.create(made), outcome)

/** The same, for the outcome that nearly every call has. */
function answered(output: Json): Outcome {
  const outcome: { ok: boolean; output: Json } = Object.create(made)
  outcome.ok = true
  outcome.output = output
  return outcome
}
