import { z } from 'zod'

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
