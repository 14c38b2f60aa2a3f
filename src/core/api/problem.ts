import { z } from 'zod'

/** The body of an error response. It follows RFC 9457 and has a `code` by which programs can tell errors apart. */
export const ProblemBody = z.object({
  type: z.string().describe('A URI that identifies the kind of the problem.'),
  status: z.int().describe('The HTTP status of the response.'),
  title: z.string().describe('A description of the problem for people.'),
  code: z.string().describe('The code of the error. Programs can rely on it: it does not change when the text in `title` changes.'),
  request_id: z.string().optional().describe('The id of the request. The log of the server contains the same id.'),
  issues: z
    .array(z.object({ where: z.string(), message: z.string() }))
    .optional()
    .describe('The invalid fields of the request. `where` names the field.'),
})
export type ProblemBody = z.infer<typeof ProblemBody>
