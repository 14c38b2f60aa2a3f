import { parseBlock } from '../block/parse.ts'
import { Failure } from '../failure.ts'
import { isObject } from '../json.ts'
import { type Change, type StoredTurnOptions, waitKinds } from './change.ts'
import { parsePayload } from './payload.ts'

/**
 * Returns the problem with a value, or undefined. Checks run on every entry that is written or read. Therefore they create no objects for a
 * valid value.
 */
type Check = (value: unknown) => string | undefined

const text: Check = (value) => (typeof value === 'string' ? undefined : 'must be a string')
const number: Check = (value) => (typeof value === 'number' ? undefined : 'must be a number')
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false')
const integer: Check = (value) => (Number.isSafeInteger(value) ? undefined : 'must be a whole number')
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)
const nullable =
  (check: Check): Check =>
  (value) =>
    value === null ? undefined : check(value)
const oneOf = (...words: readonly string[]): Check => {
  const known: ReadonlySet<unknown> = new Set(words)
  return (value) => (known.has(value) ? undefined : `must be one of ${words.join(', ')}`)
}
const only =
  (expected: unknown): Check =>
  (value) =>
    value === expected ? undefined : `must be ${JSON.stringify(expected)}`
const list =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return 'must be a list'
    for (let index = 0; index < value.length; index++) {
      const problem = check(value[index])
      if (problem !== undefined) return `[${index}] ${problem}`
    }
    return undefined
  }
const object = (fields: { readonly [name: string]: Check }): Check => {
  const checks = Object.entries(fields).map(([name, check]) => ({ name, check }))
  return (value) => {
    if (!isObject(value)) return 'must be an object'
    for (const { name, check } of checks) {
      const problem = check(value[name])
      if (problem !== undefined) return `.${name} ${problem}`
    }
    return undefined
  }
}

/** Makes a check from a parser that throws a `Failure` for invalid values. */
const parsedBy =
  (parse: (value: unknown) => unknown): Check =>
  (value) => {
    try {
      parse(value)
      return undefined
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return `: ${error.message}`
    }
  }

const texts = list(text)
const blobRef = object({ sha256: text, size: number })
const blobRefs = list(blobRef)
const sids = list(integer)
const blocks = list(parsedBy(parseBlock))
const usage = object({
  uncached: number,
  cache_read: number,
  cache_write: number,
  cache_write_long: optional(number),
  output: number,
})
const event = object({
  event_id: text,
  sequence: integer,
  kind: oneOf('followup', 'steer', 'feedback', 'external', 'decision', 'completion', 'withdrawal'),
  ts: text,
  text,
  keeps: optional(blobRefs),
})
const wait = object({
  wait_id: text,
  kind: oneOf(...waitKinds),
  call_id: optional(text),
  question: optional(text),
  expires_at: optional(text),
  approver: optional(only('operator')),
  child_id: optional(text),
  token_sha256: optional(text),
  budget: optional(text),
  schema: optional(object({})),
  running: optional(only(true)),
})

const turnOptions = object({
  model: optional(text),
  max_rounds: optional(integer),
  instructions: optional(text),
  tools: optional(texts),
  ask: optional(texts),
  output: optional(object({})),
  unstored: optional(texts),
})

const frozenTexts: Check = (value) => {
  if (!isObject(value)) return 'must be an object'
  for (const name in value) {
    const problem = blobRef(value[name])
    if (problem !== undefined) return `.${name} ${problem}`
  }
  return undefined
}

const changeChecks: { readonly [Type in Change['type']]: Check } = {
  'turn.opened': object({ turn_id: text, ts: text, options: optional(turnOptions), frozen: optional(frozenTexts) }),
  'turn.closed': object({ turn_id: text, ts: text, exit_reason: text, sources_used: optional(sids), tokens: optional(number) }),
  'turn.waiting': object({ turn_id: text, ts: text, waits: list(wait), active: optional(only(true)) }),
  'turn.resumed': object({ turn_id: text, ts: text, wait_ids: texts }),
  'blocks.appended': object({ blocks }),
  'blocks.inserted': object({ after_id: text, blocks }),
  'range.compacted': object({ after_id: text, blocks, covered: texts, frozen: optional(frozenTexts) }),
  'blocks.hidden': object({
    ids: texts,
    replacement_text: text,
    reason: oneOf('hide', 'cache_ttl', 'cache_ttl_light', 'compaction'),
    scope: optional(oneOf('old_turn', 'recent')),
  }),
  'blocks.revealed': object({ ids: texts }),
  'response.received': object({
    turn_id: text,
    ts: text,
    iteration: integer,
    call_id: text,
    raw: text,
    dialect: optional(oneOf('native')),
    finish_reason: text,
    usage: optional(usage),
    prompt: optional(object({})),
    retried: optional(list(object({ usage }))),
    wrap_up: optional(oneOf('rounds', 'time', 'money')),
    request_hash: optional(number),
  }),
  'sources.merged': object({ ts: text, rows: list(object({ sid: integer })), next_sid: integer }), // the only field that a row must have is its SID
  'sources.used': object({ ts: text, sids }),
  'source.removed': object({ ts: text, sid: integer }),
  'title.set': object({ ts: text, title: text }),
  'event.accepted': object({ event }),
  'event.folded': object({ ts: text, event_ids: texts, turn_id: nullable(text) }),
  'call.repeated': object({ turn_id: text, call_id: text, ts: text }),
  'call.finished': object({ turn_id: text, ts: text, call_id: text, outcome: object({ ok: flag }), keeps: optional(blobRefs) }),
  'feedback.seen': object({ ts: text, until: text }),
  'timeline.imported': object({ timeline: parsedBy(parsePayload), next_block: integer }),
}

/** The options of a turn in the payload of an event. Undefined when the payload has no options or invalid options. */
export const parseTurnOptions = (value: unknown): StoredTurnOptions | undefined =>
  value !== undefined && turnOptions(value) === undefined ? (value as StoredTurnOptions) : undefined

/** The types of all changes that this version of Daybook knows. */
export const knownChangeTypes = (): readonly string[] => Object.keys(changeChecks)

/** The type of a change that only a newer version of Daybook knows. Undefined for any other value. */
export function newerType(value: unknown): string | undefined {
  const type = isObject(value) ? value.type : undefined
  return typeof type === 'string' && type !== '' && !Object.hasOwn(changeChecks, type) ? type : undefined
}

/**
 * Checks a change from a journal. Unknown fields are kept, because a later release of Daybook may have written them. A change of an unknown
 * type can not be applied, so it throws `change.invalid`.
 */
export function parseChange(value: unknown): Change {
  const type = isObject(value) ? value.type : undefined
  const known = typeof type === 'string' && Object.hasOwn(changeChecks, type)
  const problem = known ? changeChecks[type as Change['type']](value) : `type ${JSON.stringify(type)} is unknown`
  if (problem !== undefined) throw new Failure('change.invalid', `the change is invalid: ${known ? type : ''}${problem}`)
  return value as Change // `changeChecks` has checked the fields
}
