import { z } from 'zod'
import { CacheRowView, CallView } from './report.ts'

/** The cost of one round, divided among the blocks of its prompt and of its response, and how it used the provider's cache. */
export const RoundView = z.object({
  turn_id: z.string(),
  iteration: z.int(),
  /** The model calls of the round: first the attempts whose output was not used, then the call whose output was used. */
  calls: z.array(CallView),
  /** The shares add up to the tokens and the money of the calls. They are in the order of the prompt, then of the response. */
  shares: z.array(
    z.object({
      /** The id of a block, or `system`, `tail`, or `unused` (output that became no block). */
      key: z.string(),
      tokens: z.object({ uncached: z.number(), cache_read: z.number(), cache_write: z.number(), output: z.number() }),
      /** In billionths of a US dollar. Null when the price is not known. */
      money: z.number().nullable(),
      /** What the block has cost up to this round. `unpriced` is the number of calls whose price is not known. */
      money_so_far: z.number(),
      unpriced: z.int(),
    }),
  ),
  cache: CacheRowView.extend({
    /** How the first block that differs was shown before and now. A side is null when there was no such block, or when its text is not known. */
    difference: z.object({ before: z.string().nullable(), now: z.string().nullable() }).nullable(),
  }).nullable(),
})
export type RoundView = z.infer<typeof RoundView>

/** One page of the journal. `next` is the value of `after` for the next page. The last page has none. */
export const EntryPage = z.object({
  entries: z.array(z.object({ seq: z.int(), change: z.looseObject({ type: z.string() }) })),
  last_seq: z.int(),
  next: z.int().optional(),
})

export const EntryQuery = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the seq of an entry')
    .transform(Number)
    .optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(500),
})

/** The first difference between a recorded turn and what the current code does. */
const DivergenceView = z.object({
  /** What differs first. `prompt`: the prompt. `decision`: the step that the agent takes. `block`: a block of the same step. */
  kind: z.enum(['prompt', 'decision', 'block']),
  /** The recorded entry that differs. */
  seq: z.int(),
  iteration: z.int().nullable(),
  /** The part of the prompt that differs, such as `system text` or `block`. */
  where: z.string().nullable(),
  block: z.object({ id: z.string(), type: z.string(), path: z.string().nullable() }).nullable(),
  /** The field of the block that differs, such as `text`. */
  field: z.string().nullable(),
  /** The position of the first difference, in UTF-8 bytes. */
  byte: z.int().nullable(),
  /** The recorded text from the first difference on. `present` is the text of the current code from there on. */
  recorded: z.string().nullable(),
  present: z.string().nullable(),
  /** The difference in one sentence. */
  words: z.string(),
})
/** The first difference between a recorded turn and what the current code does. */
export type DivergenceView = z.infer<typeof DivergenceView>

/** The result of replaying the turns of a conversation with the current code. */
export const ReplayView = z.object({
  turns: z.array(
    z.object({
      turn_id: z.string(),
      rounds: z.int(),
      /** `torn`: the turn can not be replayed, because it was imported, or because a part of its journal was removed. */
      result: z.enum(['same', 'different', 'torn']),
      divergence: DivergenceView.nullable(),
    }),
  ),
})
export type ReplayView = z.infer<typeof ReplayView>
