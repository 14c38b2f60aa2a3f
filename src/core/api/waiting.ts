import { z } from 'zod'

/** Something that a turn waits for. `params` are the complete parameters of the call, but cut if they have more than 200,000 characters. */
export const WaitView = z.object({
  conversation_id: z.string().describe('The id of the conversation.'),
  turn_id: z.string().describe('The id of the turn.'),
  wait_id: z.string().describe('The id of the wait.'),
  kind: z
    .string()
    .describe(
      'What the turn waits for: `approval` (of a call), `later` (a late result), `provider` (the provider accepts no requests now), `budget` (a larger budget), `child` (a sub-agent) or `elicitation` (the answer to a question of an MCP server).',
    ),
  call_id: z.string().optional().describe('The id of the call.'),
  tool_id: z.string().optional().describe('The id of the tool.'),
  params: z.record(z.string(), z.unknown()).optional().describe('The parameters of the call.'),
  question: z.string().optional().describe('The question to the person who decides.'),
  expires_at: z.string().optional().describe('When the wait ends if no decision or result arrives before.'),
  approver: z.literal('operator').optional().describe('Set to `operator` if only an operator may decide.'),
  schema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The JSON Schema of the answer, for the kind `elicitation`. The answer is sent as `params` of a decision.'),
  child_id: z.string().optional().describe('The conversation of the sub-agent that waits, for the kind `child`.'),
})
export type WaitView = z.infer<typeof WaitView>

/** A page of waits. `next` is the cursor of the following page. */
export const WaitList = z.object({
  waits: z.array(WaitView).describe('The waits.'),
  next: z.string().optional().describe('The `cursor` of the next page. Missing on the last page.'),
})
export type WaitList = z.infer<typeof WaitList>

export const WaitQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(50).describe('How many items a page has at most.'),
  cursor: z.string().optional().describe('`next` of the previous page.'),
})

/** What a person decides about a call. */
export const DecisionBody = z.strictObject({
  approved: z.boolean().describe('True to approve the call, false to refuse it.'),
  note: z.string().max(10_000).optional().describe('A text for the model, for example why the call is refused.'),
  params: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Parameters that replace the parameters of the call. For a wait of the kind `elicitation`, the answer.'),
})
export type DecisionBody = z.infer<typeof DecisionBody>

/** The late result of a call. */
export const CompletionBody = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), output: z.unknown().optional().describe('The result of the call.') }),
  z.strictObject({ ok: z.literal(false), error: z.object({ code: z.string().min(1).max(200), message: z.string().max(10_000) }) }),
])
export type CompletionBody = z.infer<typeof CompletionBody>

/**
 * The response to a decision or a late result. If `status` is `known`, the call already had a decision or a result, and the new one is
 * ignored.
 */
export const RecordedView = z.object({
  status: z
    .enum(['recorded', 'known'])
    .describe(
      '`recorded`: the decision or result is stored. `known`: the call already had a decision or a result, and the new one is ignored.',
    ),
})
export type RecordedView = z.infer<typeof RecordedView>
