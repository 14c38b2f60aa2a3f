import { z } from 'zod'

/** What to do when a turn is already running: add to it, interrupt it, or ask it to come to an end. A new turn begins when none is. */
export const SubmitMode = z.enum(['followup', 'steer', 'wrap_up'])

export const UploadBody = z.strictObject({
  name: z.string().min(1).max(1024),
  mime: z.string().max(200).optional(),
  base64: z.string(),
})
export type UploadBody = z.infer<typeof UploadBody>

/** As JSON; the same fields as multipart are `text`, `mode` and any number of `files`. */
export const TurnSubmission = z.strictObject({
  text: z.string().max(1_000_000).default(''),
  mode: SubmitMode.default('followup'),
  attachments: z.array(UploadBody).max(20).default([]),
})
export type TurnSubmission = z.input<typeof TurnSubmission>

/** Accepted is not started, and not answered: whoever wants to see what comes of it follows the events. */
export const TurnAccepted = z.object({
  status: z.enum(['processing_started', 'followup_accepted', 'steer_accepted', 'already_accepted']),
  conversation_id: z.string(),
  /** The turn it belongs to. A followup that no turn takes in becomes a turn of its own. */
  turn_id: z.string().nullable(),
  event_id: z.string(),
})
export type TurnAccepted = z.infer<typeof TurnAccepted>

export const StopAccepted = z.object({ stopped: z.boolean() })
export type StopAccepted = z.infer<typeof StopAccepted>

export const FeedbackBody = z.strictObject({
  turn_id: z.string().min(1).max(200),
  reaction: z.enum(['ok', 'not_ok', 'neutral']).optional(),
  text: z.string().max(10_000).optional(),
})
export type FeedbackBody = z.infer<typeof FeedbackBody>
