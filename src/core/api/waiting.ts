import { z } from 'zod'

/** Something that a turn waits for. The parameters are complete, unless they have more than 200,000 characters. */
export const WaitView = z.object({
  conversation_id: z.string(),
  turn_id: z.string(),
  wait_id: z.string(),
  kind: z.string(),
  call_id: z.string().optional(),
  tool_id: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  question: z.string().optional(),
  expires_at: z.string().optional(),
  approver: z.literal('operator').optional(),
  /** The JSON Schema of the answer, for the kind `elicitation`. The answer is sent as `params` of a decision. */
  schema: z.record(z.string(), z.unknown()).optional(),
  /** The conversation of the sub-agent that waits, for the kind `child`. */
  child_id: z.string().optional(),
})
export type WaitView = z.infer<typeof WaitView>

/** A page of waits. `next` is the cursor of the following page. */
export const WaitList = z.object({ waits: z.array(WaitView), next: z.string().optional() })
export type WaitList = z.infer<typeof WaitList>

export const WaitQuery = z.strictObject({ limit: z.coerce.number().int().min(1).max(100).default(50), cursor: z.string().optional() })

/** What a person decides about a call. */
export const DecisionBody = z.strictObject({
  approved: z.boolean(),
  note: z.string().max(10_000).optional(),
  params: z.record(z.string(), z.unknown()).optional(),
})
export type DecisionBody = z.infer<typeof DecisionBody>

/** The late result of a call. */
export const CompletionBody = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), output: z.unknown().optional() }),
  z.strictObject({ ok: z.literal(false), error: z.object({ code: z.string().min(1).max(200), message: z.string().max(10_000) }) }),
])
export type CompletionBody = z.infer<typeof CompletionBody>

/** The response to a decision or a late result. `known`: the call already had one, and this one is ignored. */
export const RecordedView = z.object({ status: z.enum(['recorded', 'known']) })
export type RecordedView = z.infer<typeof RecordedView>
