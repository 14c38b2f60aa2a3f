import { z } from 'zod'
import { type Effect, effectStatuses } from '../effects/effects.ts'

const Tokens = z.object({
  uncached: z.number().describe('Input tokens that were not cached.'),
  cache_read: z.number().describe('Input tokens that the provider read from its cache.'),
  cache_write: z.number().describe('Input tokens that the provider wrote to its cache.'),
  output: z.number().describe('The output tokens.'),
  reasoning: z.number().describe('How many of the output tokens are reasoning.'),
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
  seq: z.int().describe('The number of the journal entry that records the call.'),
  turn_id: z.string().describe('The id of the turn.'),
  iteration: z.int().describe('The number of the round in its turn, from 0.'),
  role: z
    .enum(['decision', 'gate', 'compaction', 'child'])
    .describe('`decision`, `gate` (a title), `compaction` (a summary) or `child` (a call of a sub-agent).'),
  model: z.string().describe('The name of the model.'),
  ts: z.string().describe('When the call was recorded, such as 2030-01-31T09:00:00Z.'),
  tokens: Tokens.describe('The tokens of the call.'),
  money: z.number().nullable().describe('The cost in billionths of a US dollar. Null when the price is not known.'),
  estimated: z.boolean().describe('True when the provider reported no token counts and Daybook estimated them.'),
})
export type CallView = z.infer<typeof CallView>

/** A cache miss: tokens that the provider should have read from its cache or written to it, and the reason why it did not. */
const Miss = z.object({
  cause: z.string().describe('The cause of the miss.'),
  tokens: z.number().describe('The number of tokens that were not read from the cache or not written to it.'),
  words: z.string().describe('The cause in words.'),
  block: z.string().nullable().describe('The id of the first block that the provider had to process without its cache.'),
  block_type: z.string().nullable().describe('The type of the block in `block`.'),
  block_path: z.string().nullable().describe('The path of the block in `block`.'),
  money: z
    .number()
    .nullable()
    .describe('What these tokens cost in this call, in billionths of a US dollar. Null when the price is not known.'),
  avoidable: z.boolean().describe('True when a change in the configuration or use of the agent can prevent such a miss.'),
  advice: z.string().describe('What to change in order to prevent such a miss.'),
})

/** How one decision used the provider's cache. If the cache was used less than predicted, `miss` has the cause. */
export const CacheRowView = z.object({
  seq: z.int().describe('The number of the journal entry that records the call.'),
  turn_id: z.string().describe('The id of the turn.'),
  iteration: z.int().describe('The number of the round in its turn, from 0.'),
  ts: z.string().describe('When the call was recorded, such as 2030-01-31T09:00:00Z.'),
  model: z.string().describe('The name of the model.'),
  predicted: Buckets.nullable().describe(
    'How many tokens the provider should have read from its cache and written to it. Null when the caching rules of the model are not known.',
  ),
  billed: Buckets.nullable().describe('How many tokens of each kind the provider billed. Null when it reported none.'),
  miss: Miss.nullable().describe('The miss, if the cache was used less than predicted. Null when there is no miss.'),
})
export type CacheRowView = z.infer<typeof CacheRowView>

/** The cost of a conversation, and how many tokens of its prompts were read from the provider's cache. */
export const CostView = z.object({
  total: Sum.describe('The cost of all calls.'),
  turns: z.record(z.string(), Sum).describe('The costs by turn.'),
  roles: z.record(z.string(), Sum).describe('The costs by the role of the call.'),
  models: z.record(z.string(), Sum).describe('The costs by model.'),
  blocks: z
    .record(z.string(), Sum)
    .describe(
      'The costs by the id of the block. Costs that belong to no block have one of these keys: `system` (the system text), `tail` (the end of the prompt), `gate` (calls for a title), `compaction` (calls for a summary), `unused` (output that became no block).',
    ),
  calls: z.array(CallView).describe('Every call of a model, in order.'),
  cache: z
    .object({
      hit_rate: z.number().describe('The share of input tokens that were read from the cache.'),
      billed: Buckets.describe('The billed input tokens.'),
      rows: z.array(CacheRowView).describe('One row per decision.'),
    })
    .describe('How the cache of the provider was used.'),
})
export type CostView = z.infer<typeof CostView>

/** The calls of tools that are not read-only, in order. */
export const EffectsView = z.object({
  effects: z
    .array(
      z.object({
        turn_id: z.string().describe('The id of the turn.'),
        call_id: z.string().describe('The id of the call.'),
        tool_id: z.string().describe('The id of the tool.'),
        called_at: z.string().describe('When the tool was called.'),
        ended_at: z.string().nullable().describe('When the call got its result. Null until then.'),
        status: z.enum(effectStatuses).describe('The outcome of the call.'),
        error: z.object({ code: z.string(), message: z.string() }).nullable().describe('The error of a failed call.'),
      }),
    )
    .describe('The calls.'),
})
export type EffectsView = z.infer<typeof EffectsView>

export const effectsView = (effects: readonly Effect[]): EffectsView => ({
  effects: effects.map(({ turnId: turn_id, callId: call_id, toolId: tool_id, calledAt: called_at, endedAt, status, error }) => {
    return { turn_id, call_id, tool_id, called_at, ended_at: endedAt ?? null, status, error: error ?? null }
  }),
})

/** One part of a prompt. */
export const PromptPart = z.object({
  type: z.enum(['text', 'image', 'document']).describe('What the part is.'),
  text: z.string().optional().describe('The text of the part.'),
  media_type: z.string().optional().describe('The media type, if the part is an image or a document.'),
  size_bytes: z.int().optional().describe('The size in bytes.'),
  marked: z.boolean().describe('True when the part has a mark: the provider may cache the prompt up to and including this part.'),
  tokens: z.int().describe('The estimated number of tokens of the part.'),
})
export type PromptPart = z.infer<typeof PromptPart>

/** A block of a prompt, and its position in the parts of the prompt. */
export const PromptBlock = z.object({
  key: z
    .string()
    .describe(
      'The id of the block. `system` stands for the system text, and `tail` for the end of the prompt, which changes in every round.',
    ),
  type: z.string().describe('The type of the block.'),
  author: z.string().optional().describe('Who wrote the block.'),
  path: z.string().optional().describe('The path of the block.'),
  turn_id: z.string().optional().describe('The id of the turn.'),
  ts: z.string().optional().describe('When the block was made, such as 2030-01-31T09:00:00Z.'),
  hidden: z.literal(true).optional().describe('True when the block is hidden and the prompt has only its replacement text.'),
  marked: z.boolean().describe('True when there is a mark at the end of this block: the provider may cache the prompt up to there.'),
  spans: z
    .array(z.object({ part: z.int(), start: z.int(), end: z.int() }))
    .describe(
      'The characters `start` to `end` of the part with the index `part`. If `part` is -1, the characters are in the system text. An image or document has 0 characters.',
    ),
})
export type PromptBlock = z.infer<typeof PromptBlock>

/** The prompt of an earlier round. It is rendered again from the journal. */
export const PromptView = z.object({
  turn_id: z.string().describe('The id of the turn.'),
  iteration: z.int().describe('The number of the round in its turn, from 0.'),
  model: z.string().nullable().describe('The name of the model.'),
  system: z.string().describe('The system text.'),
  parts: z.array(PromptPart).describe('The parts of the prompt.'),
  blocks: z.array(PromptBlock).describe('The blocks of the prompt in order. Together they cover the whole system text and all parts.'),
  usage: z
    .object({ uncached: z.number(), cache_read: z.number(), cache_write: z.number(), output: z.number(), reasoning: z.number().optional() })
    .nullable()
    .describe('The token usage that the provider reported. Null when it reported none.'),
  differs: z
    .string()
    .optional()
    .describe(
      'Describes the first difference between this prompt and the prompt that was sent. Missing when the two prompts are equal. They differ if the code, the tools or the texts of the agent were changed after the prompt was sent.',
    ),
})
export type PromptView = z.infer<typeof PromptView>
