import { z } from 'zod'

const Tokens = z.object({
  uncached: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  output: z.number(),
  reasoning: z.number(),
})

/** Money in whole billionths of the currency; at least so much when `unpriced` is not 0. */
const Sum = z.object({ tokens: Tokens, money: z.number(), calls: z.int(), unpriced: z.int() })
export type CostSum = z.infer<typeof Sum>

const Buckets = z.object({ read: z.number(), write: z.number(), uncached: z.number() })

/** What a conversation has cost, and what the provider's cache did for it. */
export const CostView = z.object({
  total: Sum,
  turns: z.record(z.string(), Sum),
  roles: z.record(z.string(), Sum),
  models: z.record(z.string(), Sum),
  /** By block id; `system`, `tail`, `gate` and `compaction` for what is no block. */
  blocks: z.record(z.string(), Sum),
  cache: z.object({
    hit_rate: z.number(),
    billed: Buckets,
    /** Every decision: what should have been read, what was, and why it was not. */
    rows: z.array(
      z.object({
        seq: z.int(),
        turn_id: z.string(),
        iteration: z.int(),
        ts: z.string(),
        model: z.string(),
        predicted: Buckets.nullable(),
        billed: Buckets.nullable(),
        miss: z.object({ cause: z.string(), tokens: z.number(), words: z.string(), block: z.string().nullable() }).nullable(),
      }),
    ),
  }),
})
export type CostView = z.infer<typeof CostView>

/** One part of what the model read, and whether the provider may cache up to here. */
export const PromptPart = z.object({
  type: z.enum(['text', 'image', 'document']),
  text: z.string().optional(),
  media_type: z.string().optional(),
  size_bytes: z.int().optional(),
  /** A cache mark stands after this part. */
  marked: z.boolean(),
  /** Blocks that this part shows, first and last. */
  first_block: z.string().optional(),
  last_block: z.string().optional(),
  tokens: z.int(),
})
export type PromptPart = z.infer<typeof PromptPart>

export const PromptView = z.object({
  turn_id: z.string(),
  iteration: z.int(),
  model: z.string().nullable(),
  system: z.string(),
  parts: z.array(PromptPart),
  /** What the provider billed for it, when it said so. */
  usage: z
    .object({ uncached: z.number(), cache_read: z.number(), cache_write: z.number(), output: z.number(), reasoning: z.number().optional() })
    .nullable(),
  /** Where this is not what was sent then: code, tools or texts have changed since. */
  differs: z.string().optional(),
})
export type PromptView = z.infer<typeof PromptView>
