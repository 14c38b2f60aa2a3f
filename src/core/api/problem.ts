import { z } from 'zod'

/** The body of an error response. It follows RFC 9457 and has a `code` by which programs can tell errors apart. */
export const ProblemBody = z.object({
  type: z.string(),
  status: z.int(),
  title: z.string(),
  code: z.string(),
  /** The id of the request. The log of the server contains the same id. */
  request_id: z.string().optional(),
  /** The invalid fields of the request. `where` names the field. */
  issues: z.array(z.object({ where: z.string(), message: z.string() })).optional(),
})
export type ProblemBody = z.infer<typeof ProblemBody>
