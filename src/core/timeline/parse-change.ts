import { z } from 'zod'
import type { Block } from '../block/envelope.ts'
import { parseBlock } from '../block/parse.ts'
import { Failure } from '../failure.ts'
import type { SourceRow } from '../sources/source.ts'
import type { Change } from './change.ts'
import { parsePayload, type TimelinePayload } from './payload.ts'

const text = z.string()
const whole = z.number().int()
const texts = z.array(text)
const sids = z.array(whole)

/** Our own parsers inside a schema: their Failure is the message. */
const by = <T>(parse: (value: unknown) => T) =>
  z.unknown().transform((value, context) => {
    try {
      return parse(value)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      context.addIssue({ code: 'custom', message: error.message })
      return z.NEVER
    }
  })

const blocks = z.array(by<Block>(parseBlock))
const sourceRow = z.looseObject({ sid: whole }).transform((row) => row as unknown as SourceRow) // rows are additive; the sid is what counts

const inboxEvent = z.looseObject({
  event_id: text,
  sequence: whole,
  kind: z.enum(['followup', 'steer', 'feedback', 'external']),
  ts: text,
  text,
})

const ChangeRow = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('turn.opened'), turn_id: text, ts: text }),
  z.looseObject({
    type: z.literal('turn.closed'),
    turn_id: text,
    ts: text,
    exit_reason: text,
    sources_used: sids.optional(),
    tokens: z.number().optional(),
  }),
  z.looseObject({ type: z.literal('blocks.appended'), blocks }),
  z.looseObject({ type: z.literal('blocks.inserted'), after_id: text, blocks }),
  z.looseObject({ type: z.literal('range.compacted'), after_id: text, blocks, covered: texts }),
  z.looseObject({
    type: z.literal('blocks.hidden'),
    ids: texts,
    replacement_text: text,
    reason: z.enum(['hide', 'cache_ttl', 'cache_ttl_light', 'compaction']),
    scope: z.enum(['old_turn', 'recent']).optional(),
  }),
  z.looseObject({ type: z.literal('blocks.revealed'), ids: texts }),
  z.looseObject({
    type: z.literal('response.received'),
    turn_id: text,
    ts: text,
    iteration: whole,
    call_id: text,
    raw: text,
    finish_reason: text,
    usage: z.looseObject({ uncached: z.number(), cache_read: z.number(), cache_write: z.number(), output: z.number() }).optional(),
    prompt: z.looseObject({}).optional(),
  }),
  z.looseObject({ type: z.literal('sources.merged'), ts: text, rows: z.array(sourceRow), next_sid: whole }),
  z.looseObject({ type: z.literal('sources.used'), ts: text, sids }),
  z.looseObject({ type: z.literal('source.removed'), ts: text, sid: whole }),
  z.looseObject({ type: z.literal('title.set'), ts: text, title: text }),
  z.looseObject({ type: z.literal('event.accepted'), event: inboxEvent }),
  z.looseObject({ type: z.literal('event.folded'), ts: text, event_ids: texts, turn_id: text.nullable() }),
  z.looseObject({ type: z.literal('feedback.seen'), ts: text, until: text }),
  z.looseObject({ type: z.literal('timeline.imported'), timeline: by<TimelinePayload>(parsePayload), next_block: whole }),
])

/** A row of a journal, checked. Fields of a later version stay; a type of a later version is refused, because applying it is not possible. */
export function parseChange(value: unknown): Change {
  const parsed = ChangeRow.safeParse(value)
  if (parsed.success) return parsed.data as Change // looseObject widens what the union names exactly
  const issue = parsed.error.issues[0]
  throw new Failure('change.invalid', `not a change: ${issue?.path.join('.') || 'type'}: ${issue?.message ?? 'unknown'}`)
}
