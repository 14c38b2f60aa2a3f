import { z } from 'zod'

/** The body of an error response: RFC 9457 with a stable `code`. */
export const ProblemBody = z.object({
  type: z.string(),
  status: z.int(),
  title: z.string(),
  code: z.string(),
  /** The id of the request, which the server's log also contains. */
  request_id: z.string().optional(),
  /** The invalid parts of the request. */
  issues: z.array(z.object({ where: z.string(), message: z.string() })).optional(),
})
export type ProblemBody = z.infer<typeof ProblemBody>
