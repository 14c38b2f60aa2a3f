import { z } from 'zod'
import { type Effect, effectStatuses } from '../effects/effects.ts'

const Tokens = z.object({
  uncached: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  output: z.number(),
  reasoning: z.number(),
})

/**
 * A sum over model calls. `money` is in billionths of a US dollar. `unpriced` is the number of calls whose price is not known. The cost of
 * these calls is not part of `money`.
 */
const Sum = z.object({ tokens: Tokens, money: z.number(), calls: z.int(), unpriced: z.int() })
export type CostSum = z.infer<typeof Sum>

const Buckets = z.object({ read: z.number(), write: z.number(), uncached: z.number() })

/** One call of a model. `money` is in billionths of a US dollar, and null when the price is not known. */
export const CallView = z.object({
  seq: z.int(),
  turn_id: z.string(),
  iteration: z.int(),
  /** `decision`, `gate` (a title), `compaction` (a summary) or `child` (a call of a sub-agent). */
  role: z.enum(['decision', 'gate', 'compaction', 'child']),
  model: z.string(),
  ts: z.string(),
  tokens: Tokens,
  money: z.number().nullable(),
  /** True when the provider reported no tokens, so that they are estimated. */
  estimated: z.boolean(),
})
export type CallView = z.infer<typeof CallView>

/** A cache miss: tokens that the provider should have read from its cache or written to it, and the reason why it did not. */
const Miss = z.object({
  cause: z.string(),
  tokens: z.number(),
  words: z.string(),
  /** The id of the first block that the provider had to process without its cache. */
  block: z.string().nullable(),
  block_type: z.string().nullable(),
  block_path: z.string().nullable(),
  /** What these tokens cost in this call, in billionths of a US dollar. Null when the price is not known. */
  money: z.number().nullable(),
  /** Whether another set-up of the agent would prevent such a miss. */
  avoidable: z.boolean(),
  advice: z.string(),
})

/** How one decision used the provider's cache. If the cache was used less than predicted, `miss` has the cause. */
export const CacheRowView = z.object({
  seq: z.int(),
  turn_id: z.string(),
  iteration: z.int(),
  ts: z.string(),
  model: z.string(),
  predicted: Buckets.nullable(),
  billed: Buckets.nullable(),
  miss: Miss.nullable(),
})
export type CacheRowView = z.infer<typeof CacheRowView>

/** The cost of a conversation, and how many tokens of its prompts were read from the provider's cache. */
export const CostView = z.object({
  total: Sum,
  turns: z.record(z.string(), Sum),
  roles: z.record(z.string(), Sum),
  models: z.record(z.string(), Sum),
  /**
   * The costs by the id of the block. Costs that belong to no block have one of these keys: `system` (the system text), `tail` (the end of
   * the prompt), `gate` (calls for a title), `compaction` (calls for a summary), `unused` (output that became no block).
   */
  blocks: z.record(z.string(), Sum),
  /** Every call of a model, in order. */
  calls: z.array(CallView),
  cache: z.object({
    hit_rate: z.number(),
    billed: Buckets,
    /** One row per decision. */
    rows: z.array(CacheRowView),
  }),
})
export type CostView = z.infer<typeof CostView>

/** The calls of tools that are not read-only, in order. */
export const EffectsView = z.object({
  effects: z.array(
    z.object({
      turn_id: z.string(),
      call_id: z.string(),
      tool_id: z.string(),
      called_at: z.string(),
      /** Null until the call has a result. */
      ended_at: z.string().nullable(),
      status: z.enum(effectStatuses),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
    }),
  ),
})
export type EffectsView = z.infer<typeof EffectsView>

export const effectsView = (effects: readonly Effect[]): EffectsView => ({
  effects: effects.map(({ turnId: turn_id, callId: call_id, toolId: tool_id, calledAt: called_at, endedAt, status, error }) => {
    return { turn_id, call_id, tool_id, called_at, ended_at: endedAt ?? null, status, error: error ?? null }
  }),
})

/** One part of a prompt. */
export const PromptPart = z.object({
  type: z.enum(['text', 'image', 'document']),
  text: z.string().optional(),
  media_type: z.string().optional(),
  size_bytes: z.int().optional(),
  /** True when the part has a mark: the provider may cache the prompt up to and including this part. */
  marked: z.boolean(),
  /** The id of the first block in this part. `last_block` is the id of the last one. */
  first_block: z.string().optional(),
  last_block: z.string().optional(),
  tokens: z.int(),
})
export type PromptPart = z.infer<typeof PromptPart>

/** A block of a prompt, and where it stands in the parts. */
export const PromptBlock = z.object({
  /** The id of the block. `system` is the system text, and `tail` the end of the prompt, which changes in every round. */
  key: z.string(),
  type: z.string(),
  author: z.string().optional(),
  path: z.string().optional(),
  turn_id: z.string().optional(),
  ts: z.string().optional(),
  /** Set when the block is hidden and only its replacement text is shown. */
  hidden: z.literal(true).optional(),
  /** True when a mark follows: the provider may cache the prompt up to the end of this block. */
  marked: z.boolean(),
  /** The characters `start` to `end` of the part with the index `part`. -1 is the system text. An image or document has 0 characters. */
  spans: z.array(z.object({ part: z.int(), start: z.int(), end: z.int() })),
})
export type PromptBlock = z.infer<typeof PromptBlock>

/** The prompt of an earlier round. It is rendered again from the journal. */
export const PromptView = z.object({
  turn_id: z.string(),
  iteration: z.int(),
  model: z.string().nullable(),
  system: z.string(),
  parts: z.array(PromptPart),
  /** The blocks of the prompt in order. Their spans cover the system text and all parts completely. */
  blocks: z.array(PromptBlock),
  /** The token usage that the provider reported. Null when it reported none. */
  usage: z
    .object({ uncached: z.number(), cache_read: z.number(), cache_write: z.number(), output: z.number(), reasoning: z.number().optional() })
    .nullable(),
  /**
   * Describes the first difference between this prompt and the prompt that was sent. Undefined when they are equal. They differ if the
   * code, the tools or the texts of the agent were changed after the prompt was sent.
   */
  differs: z.string().optional(),
})
export type PromptView = z.infer<typeof PromptView>
