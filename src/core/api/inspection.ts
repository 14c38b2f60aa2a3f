import { z } from 'zod'
import { CacheRowView, CallView } from './report.ts'

/** The cost of one round, divided among the blocks of its prompt and of its response, and how it used the provider's cache. */
export const RoundView = z.object({
  turn_id: z.string().describe('The id of the turn.'),
  iteration: z.int().describe('The number of the round in its turn, from 0.'),
  calls: z
    .array(CallView)
    .describe('The model calls of the round: first the attempts whose output was not used, then the call whose output was used.'),
  shares: z
    .array(
      z.object({
        key: z.string().describe('The id of a block, or `system`, `tail`, or `unused` (output that became no block).'),
        tokens: z
          .object({ uncached: z.number(), cache_read: z.number(), cache_write: z.number(), output: z.number() })
          .describe('How many tokens of the round belong to the block.'),
        money: z.number().nullable().describe('The cost in billionths of a US dollar. Null when the price is not known.'),
        money_so_far: z
          .number()
          .describe('The cost of the block in all rounds up to and including this one, in billionths of a US dollar.'),
        unpriced: z.int().describe('The number of calls whose cost is missing in `money_so_far`, because their price is not known.'),
      }),
    )
    .describe(
      'The share of each block. The sum of the shares is the tokens and the money of the calls. The blocks of the prompt come first, in their order, and then the blocks of the response.',
    ),
  cache: CacheRowView.extend({
    difference: z
      .object({ before: z.string().nullable(), now: z.string().nullable() })
      .nullable()
      .describe(
        'The first block that differs from the earlier prompt, if such a block caused a miss: its text in the earlier prompt and in this prompt. A text is null when the prompt did not have the block, or when the text is not known.',
      ),
  })
    .nullable()
    .describe('How the round used the cache of the provider.'),
})
export type RoundView = z.infer<typeof RoundView>

/** One page of the journal. `next` is the value of `after` for the next page. The last page has no `next`. */
export const EntryPage = z.object({
  entries: z.array(z.object({ seq: z.int(), change: z.looseObject({ type: z.string() }) })).describe('The entries.'),
  last_seq: z.int().describe('The number of the last entry in the journal.'),
  next: z.int().optional().describe('The value of `after` for the next page. Missing on the last page.'),
})

export const EntryQuery = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the seq of an entry')
    .transform(Number)
    .optional()
    .describe('Only entries with a higher `seq`.'),
  limit: z.coerce.number().int().min(1).max(1000).default(500).describe('How many items a page has at most.'),
})

/** The first difference between a recorded turn and what the current code does. */
const DivergenceView = z.object({
  kind: z
    .enum(['prompt', 'decision', 'block'])
    .describe(
      'What differs first. `prompt`: the prompt. `decision`: the step that the agent takes. `block`: the step is the same, but one of its blocks differs.',
    ),
  seq: z.int().describe('The recorded entry that differs.'),
  iteration: z.int().nullable().describe('The number of the round in its turn, from 0.'),
  where: z.string().nullable().describe('The part of the prompt that differs, such as `system text` or `block`.'),
  block: z.object({ id: z.string(), type: z.string(), path: z.string().nullable() }).nullable().describe('The block that differs.'),
  field: z.string().nullable().describe('The field of the block that differs, such as `text`.'),
  byte: z.int().nullable().describe('The position of the first difference, in UTF-8 bytes.'),
  recorded: z
    .string()
    .nullable()
    .describe(
      'The recorded text, starting at the first difference. `present` is the text that the current code makes, starting at the same position.',
    ),
  present: z.string().nullable().describe('The text that the current code makes, starting at the first difference.'),
  words: z.string().describe('The difference in one sentence.'),
})
/** The first difference between a recorded turn and what the current code does. */
export type DivergenceView = z.infer<typeof DivergenceView>

/** The result of replaying the turns of a conversation with the current code. */
export const ReplayView = z.object({
  turns: z
    .array(
      z.object({
        turn_id: z.string().describe('The id of the turn.'),
        rounds: z.int().describe('How many rounds the turn has.'),
        result: z
          .enum(['same', 'different', 'torn'])
          .describe(
            '`same`: the current code does what was recorded. `different`: it does something else. `torn`: the turn can not be replayed, because it was imported, or because a part of its journal was removed.',
          ),
        divergence: DivergenceView.nullable().describe('The first difference. Null when there is none.'),
      }),
    )
    .describe('The turns.'),
})
export type ReplayView = z.infer<typeof ReplayView>
