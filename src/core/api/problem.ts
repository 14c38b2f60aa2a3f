import { z } from 'zod'

/** RFC 9457, with a stable code. */
export const ProblemBody = z.object({
  type: z.string(),
  status: z.int(),
  title: z.string(),
  code: z.string(),
  /** To find it in the log. */
  request_id: z.string().optional(),
  /** What exactly was wrong, where the caller can do something about it. */
  issues: z.array(z.object({ where: z.string(), message: z.string() })).optional(),
})
export type ProblemBody = z.infer<typeof ProblemBody>
