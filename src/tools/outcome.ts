import { isObject, type Json, maximumJsonDepth } from '../core/json.ts'
import { redact } from '../core/redact.ts'
import type { Outcome, ToolError } from './tool.ts'

/** What `run` may return: the envelope of the seeds, an outcome made below, or anything that JSON can hold. */
export type Returned = Outcome | Envelope | JsonLike | undefined

/** JSON, as it is written in programs: a field that is undefined is left out. */
type JsonLike = Json | readonly JsonLike[] | { readonly [key: string]: JsonLike | undefined }

/** `managed` is the tool's own affair: it never reaches a block. */
export interface Envelope {
  readonly ok: boolean
  readonly error?: (ToolError & { readonly managed?: boolean }) | null
  readonly ret?: JsonLike
}

/** What outcomes are made of: told by it from whatever else a tool returns. A set that remembers each would cost more than the call. */
const outcomePrototype = Object.freeze({})

/** For tools that do more than answer: artifacts, notices, sources, changes of the timeline. */
export function succeeded(outcome: Omit<Outcome, 'ok' | 'error'>): Outcome {
  return createOutcome({ ...outcome, ok: true })
}

export function failed(code: string, message: string, more: Omit<Outcome, 'ok' | 'error'> & Pick<ToolError, 'details'> = {}): Outcome {
  const { details, ...rest } = more
  return createOutcome({ ...rest, ok: false, error: { code, message, ...(details !== undefined && { details }) } })
}

/** An envelope is unwrapped; an object without `ret` is its own answer; anything else is the answer. */
export function outcomeOf(returned: Returned): Outcome {
  if (isOutcome(returned)) return returned
  if (!isObject(returned) || typeof returned.ok !== 'boolean') return plainOutcome((returned ?? null) as Json)
  const { ok, error, ret } = returned
  const output = 'ret' in returned ? ((ret ?? null) as Json) : ok ? (returned as Json) : remainingFields(returned)
  if (ok) return succeeded({ ...(output !== undefined && { output }) })
  return createOutcome({ ok: false, error: toToolError(error), ...(output !== undefined && output !== null && { output }) })
}

/** A tool that says `ok` in an object of its own keeps what else it said. */
function remainingFields(returned: { readonly [key: string]: unknown }): Json | undefined {
  const { ok: _ok, error: _error, ...rest } = returned
  return Object.keys(rest).length === 0 ? undefined : (rest as Json)
}

function isOutcome(returned: Returned): returned is Outcome {
  return typeof returned === 'object' && returned !== null && Object.getPrototypeOf(returned) === outcomePrototype
}

/** Often the words of some library that the tool passes on, with whatever they hold. */
function toToolError(error: unknown): ToolError {
  if (typeof error === 'string' && error !== '') return { code: 'tool_error', message: redact(error) }
  if (!isObject(error)) return { code: 'tool_error', message: 'Tool returned ok=false' }
  const text = (key: string) => (typeof error[key] === 'string' && error[key] !== '' ? (error[key] as string) : undefined)
  const where = text('where')
  return {
    code: text('code') ?? 'tool_error',
    message: redact(text('message') ?? 'Tool returned ok=false'),
    ...(where !== undefined && { where }),
    ...(error.details !== undefined && { details: withoutManagedFlag(error.details) as Json }),
    ...(typeof error.retryable === 'boolean' && { retryable: error.retryable }),
  }
}

/** Whether a tool has dealt with its error is its own affair, however deep it says so. */
function withoutManagedFlag(value: unknown, depth = 0): unknown {
  if (depth > maximumJsonDepth) return value // no JSON: it is refused where it would be entered
  if (Array.isArray(value)) return value.map((inner) => withoutManagedFlag(inner, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (key === 'managed' ? [] : [[key, withoutManagedFlag(inner, depth + 1)]])),
  )
}

const createOutcome = (outcome: Outcome): Outcome => Object.assign(Object.create(outcomePrototype), outcome)

/** The same, for the outcome that nearly every call has. */
function plainOutcome(output: Json): Outcome {
  const outcome: { ok: boolean; output: Json } = Object.create(outcomePrototype)
  outcome.ok = true
  outcome.output = output
  return outcome
}
