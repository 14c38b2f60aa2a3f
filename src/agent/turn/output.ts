import { z } from 'zod'
import type { Notice } from '../../core/block/index.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import { snippet, violation } from '../../core/decision/violations.ts'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import type { Dialect } from '../../core/model-event.ts'
import { InvalidOption } from '../../core/options.ts'
import { describeIssues, jsonSchemaOf, type StandardResult, type StandardSchemaV1 } from '../../core/standard-schema.ts'
import type { JsonValue } from '../../core/stream/json/event.ts'
import { type ParsedJson, parseModelJson, stripFence } from '../../core/stream/json/parse.ts'
import type { ExitReason, TurnResult } from './result.ts'

/** The longest JSON Schema of an output, in characters. */
export const maxOutputSchema = 32_000

/** Why a turn with an output schema has no output. */
export interface OutputRefusal {
  /**
   * - `declined`: the model says that it can not give the output. `message` is its answer.
   * - `invalid`: the model did not write valid output, although it was told what is wrong.
   * - `limit`: a limit of rounds, time or money ended the turn.
   * - `stopped`: the user stopped the turn.
   * - `error`: the model service or Daybook failed.
   * - `waiting`: the turn has not ended. It waits, for example for an approval.
   * - `cancelled`: the turn has not ended. Another process resumes it.
   * - `not_asked`: another turn has read the message, as a followup. That turn has no output schema, or another one.
   */
  readonly code: 'declined' | 'invalid' | 'limit' | 'stopped' | 'error' | 'waiting' | 'cancelled' | 'not_asked'
  readonly message: string
}

/** Checks the answers of a turn that has an output schema. */
export interface OutputCheck {
  /** The section of the announce that tells the model what to write. */
  announced(dialect: Dialect): string
  /** The decision with its output, or a notice that tells the model what is wrong. */
  check(decision: FinalDecision): Promise<FinalDecision | Notice>
}

/** The JSON Schema of the option `output`. Throws when the schema has none, or when it is too long. */
export function outputSchema(where: string, schema: StandardSchemaV1): JsonObject {
  const refuse = (message: string, cause?: unknown) => new InvalidOption(where, 'output', message, { cause })
  let described: unknown
  try {
    described = jsonSchemaOf(schema)
  } catch (cause) {
    throw refuse('`output` can not be described as JSON Schema', cause)
  }
  if (!isObject(described)) throw refuse('`output` must be a schema that describes itself as JSON Schema, such as one of zod or arktype')
  const text = JSON.stringify(described)
  if (text.length > maxOutputSchema)
    throw refuse(`the JSON Schema of \`output\` has ${text.length} characters, at most ${maxOutputSchema} are possible`)
  return JSON.parse(text) as JsonObject // a copy without values that JSON can not have, such as undefined
}

/**
 * A schema for the option `output` from a JSON Schema. Use it if you have no schema of zod, valibot, arktype or another library. Throws
 * when the JSON Schema has a keyword that can not be checked.
 */
export function jsonSchema<Output = unknown>(schema: JsonObject): StandardSchemaV1<Output> {
  const parser = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
  const standard = {
    version: 1 as const,
    vendor: 'daybook',
    validate: (value: unknown) =>
      takesTooLong(schema, value)
        ? { issues: [{ message: 'it takes too long to check this value with the JSON Schema' }] }
        : // the cast trusts the caller of `jsonSchema`, who names the type
          (parser['~standard'].validate(value) as StandardResult<Output> | Promise<StandardResult<Output>>),
    jsonSchema: { input: () => schema, output: () => schema },
  }
  return { '~standard': standard }
}

/** Whether output can be checked with the stored JSON Schema alone. If not, the schema is lost when the process ends. */
export function isStorable(schema: JsonObject): boolean {
  try {
    jsonSchema(schema)
    return true
  } catch {
    return false
  }
}

/** `live` is the schema of the caller. A process that resumes the turn has only the stored JSON Schema. */
export function createOutputCheck(stored: JsonObject, live: StandardSchemaV1 = jsonSchema(stored)): OutputCheck {
  const text = JSON.stringify(stored)
  return {
    announced: (dialect) => `${instructions}\n${text}${dialect === 'channels' ? `\n${howToDecline}` : ''}`,
    async check(decision) {
      const parsed = decision.truncated ? undefined : parseOutput(decision.answer)
      const problem = parsed?.ok
        ? (tooLargeNumber(parsed.value) ?? (await issuesOf(live, parsed.value)))
        : parsed
          ? `it is not JSON: ${parsed.error.message}`
          : 'it was cut off'
      if (problem === undefined && parsed?.ok) {
        return { ...decision, action: 'complete', answer: JSON.stringify(parsed.value), output: { value: parsed.value } }
      }
      return decision.action === 'exit' ? decision : invalidOutput(problem ?? '')
    },
  }
}

/**
 * Parses an answer that should be JSON. Words and a code fence around the JSON are ignored. If there are brackets or double quotes outside
 * of the JSON, the answer is refused: the JSON may be a part of a larger value that is broken.
 */
function parseOutput(answer: string): ParsedJson {
  const value = parseJson(stripFence(answer).body)
  if (value !== undefined) return { ok: true, value, repairs: [] }
  const start = Math.min(...['{', '['].map((bracket) => answer.indexOf(bracket)).filter((at) => at !== -1), answer.length)
  const end = Math.max(answer.lastIndexOf('}'), answer.lastIndexOf(']')) + 1
  if (start >= end) return parseModelJson(answer)
  const parsed = parseModelJson(answer.slice(start, end))
  const hasQuotesAround = answer.lastIndexOf('"', start) !== -1 || answer.indexOf('"', end) !== -1
  if (!parsed.ok || (!hasQuotesAround && !parsed.repairs.includes('surrounding_text'))) return parsed
  const message = 'There are brackets or double quotes outside of the JSON value.'
  return { ok: false, error: { code: 'json.unexpected', message, excerpt: '', offset: 0, path: [] } }
}

/** `JSON.parse` reads a number such as 1e400 as `Infinity`, which would be stored as null. */
function tooLargeNumber(value: JsonValue): string | undefined {
  let found = false
  JSON.stringify(value, (_, item: unknown) => {
    found ||= typeof item === 'number' && !Number.isFinite(item)
    return item
  })
  return found ? 'it has a number that is too large' : undefined
}

const instructions =
  'In this turn the answer is not markdown. It is one JSON value that matches this JSON Schema, complete, and nothing else: no text around it, no code fence, no citations.'
const howToDecline = 'If you can not give it, use {"action": "exit"} and say why in the answer.'

/**
 * The problems of a value in one line. Undefined when the value matches the schema. If the schema throws an error, this error is the
 * problem.
 */
async function issuesOf(schema: StandardSchemaV1, value: JsonValue): Promise<string | undefined> {
  try {
    const { issues } = await schema['~standard'].validate(value)
    return issues && `it does not match the JSON Schema: ${describeIssues(issues)}`
  } catch (error) {
    return `it can not be checked: ${String(error)}`
  }
}

const invalidOutput = (problem: string): Notice =>
  violation('output_invalid', {
    problem: `The answer is not the output that this turn asks for: ${snippet(problem, 1_500)}.`,
    next: 'Answer again with one complete JSON value that matches the JSON Schema in ANNOUNCE, and nothing else.',
    shown: false, // the user may have seen a part of the answer, but the whole output has to be written again
  })

/**
 * The result for the caller of `run` that passed the schema `live`. Another turn may have read the message, and another process may have
 * run the turn. So the output is checked with the schema of the caller, which also makes the value that the caller expects.
 */
export async function withCallerOutput(result: TurnResult, stored: JsonObject | undefined, live: StandardSchemaV1): Promise<TurnResult> {
  const { output, refusal, ...rest } = result
  if (JSON.stringify(result.options?.output) !== JSON.stringify(stored)) {
    return { ...rest, refusal: { code: 'not_asked', message: 'Another turn has read the message. It has no such output schema.' } }
  }
  if (output === undefined) return refusal ? result : { ...rest, refusal: refusalOf(result.exitReason, result.answer) }
  const checked = await live['~standard'].validate(output)
  return checked.issues
    ? { ...rest, refusal: { code: 'invalid', message: describeIssues(checked.issues) } }
    : { ...rest, output: checked.value }
}

const refusalCodes: { readonly [Reason in ExitReason]?: OutputRefusal['code'] } = {
  complete: 'invalid',
  exit: 'declined',
  protocol_violation: 'invalid',
  max_iterations: 'limit',
  time: 'limit',
  budget: 'limit',
  unpriced: 'limit',
  steer: 'stopped',
  waiting: 'waiting',
  cancelled: 'cancelled',
}

/** Why a turn that ended for this reason has no output. */
export const refusalOf = (reason: ExitReason, message: string): OutputRefusal => ({ code: refusalCodes[reason] ?? 'error', message })

/** With more steps than this, a check would keep the process busy for too long. A step takes about a microsecond. */
const maxSteps = 200_000

/** Keywords whose schemas are checked with the same value. */
const sameValue = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'] as const
/** Keywords whose schemas are checked with the parts of a value. For the count, each of these schemas applies to every part. */
const parts = ['items', 'prefixItems', 'additionalItems', 'contains', 'additionalProperties', 'propertyNames', 'patternProperties'] as const

/**
 * Whether checking a value with a JSON Schema takes too long. Two branches of a schema may lead to the same part of it, and a check follows
 * both. So a schema of a few lines can need more steps than any computer can do. Clients of a server may send such a schema. The steps are
 * counted without checking anything, and each pair of a schema and a value is counted only once. The check of a schema that refers to
 * itself with the same value never ends.
 */
function takesTooLong(root: JsonObject, value: unknown): boolean {
  const counted = new Map<object, Map<unknown, number>>()

  function stepsOf(schema: unknown, part: unknown): number {
    if (Array.isArray(schema)) return sum(schema, part)
    if (!isObject(schema)) return 1
    const known = counted.get(schema) ?? new Map<unknown, number>()
    counted.set(schema, known)
    const before = known.get(part)
    if (before !== undefined) return before
    known.set(part, Number.POSITIVE_INFINITY) // the result if the schema leads back to itself with the same value
    const steps = countSteps(schema as JsonObject, part)
    known.set(part, steps)
    return steps
  }

  const sum = (schemas: readonly unknown[], part: unknown) => schemas.reduce<number>((total, schema) => total + stepsOf(schema, part), 0)

  function countSteps(schema: JsonObject, part: unknown): number {
    let steps =
      1 +
      sum(
        sameValue.flatMap((keyword) => (Object.hasOwn(schema, keyword) ? [schema[keyword]] : [])),
        part,
      )
    if (typeof schema.$ref === 'string') steps += stepsOf(resolve(root, schema.$ref), part)
    if (typeof part !== 'object' || part === null) return steps
    for (const [name, inner] of Object.entries(part)) {
      steps += sum(
        parts.flatMap((keyword) => (Object.hasOwn(schema, keyword) ? [schema[keyword]] : [])),
        inner,
      )
      const { properties } = schema
      if (isObject(properties) && Object.hasOwn(properties, name)) steps += stepsOf((properties as JsonObject)[name], inner)
    }
    return steps
  }

  return stepsOf(root, value) > maxSteps
}

/** The schema to which a reference such as `#/$defs/tree` leads. Undefined when there is none. */
function resolve(root: JsonObject, reference: string): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const name of reference.slice(1).split('/').slice(1)) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isObject(found) && !Array.isArray(found)) return undefined
    found = Object.hasOwn(found, key) ? (found as Record<string, unknown>)[key] : undefined
  }
  return found as Json | undefined
}
