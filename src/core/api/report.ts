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
  cache: z.object({
    hit_rate: z.number(),
    billed: Buckets,
    /**
     * One row per decision. It has the predicted and the billed numbers of tokens. If the provider's cache was used less than predicted,
     * `miss` has the cause.
     */
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

/** The prompt of an earlier round. It is rendered again from the journal. */
export const PromptView = z.object({
  turn_id: z.string(),
  iteration: z.int(),
  model: z.string().nullable(),
  system: z.string(),
  parts: z.array(PromptPart),
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
