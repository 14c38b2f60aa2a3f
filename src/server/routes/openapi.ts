import type { z } from '@hono/zod-openapi'
import { ProblemBody } from '../../core/api/problem.ts'

/** A JSON response in the description of a route. */
export const json = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
})

/** A required JSON body in the description of a route. */
export const withBody = <Schema extends z.ZodType>(schema: Schema) => ({
  body: { required: true, content: { 'application/json': { schema } } },
})

/** A response without a body in the description of a route. */
export const noContent = (description: string) => ({ description })

const problemDescriptions = {
  400: 'the request does not match what this path accepts',
  401: 'the access token is missing or not valid',
  403: 'this is for operators, or the request comes from another site',
  404: 'it does not exist, or it belongs to another user',
  409: 'it exists already, or another process is working on it',
  410: 'it has expired or was withdrawn',
  412: 'it has changed',
  413: 'too large',
  415: 'the content type is not supported',
  416: 'the range is outside the file',
  422: 'the request is well-formed, but its content is not valid',
  429: 'too many requests; `Retry-After` says when to try again',
  503: 'the server has too much to do; `Retry-After` says when to send the message again',
} as const

type ProblemStatus = keyof typeof problemDescriptions

/** The error responses in the description of a route. */
export function problems<Status extends ProblemStatus>(...statuses: readonly Status[]) {
  const responses = statuses.map((status) => [
    status,
    { description: problemDescriptions[status], content: { 'application/problem+json': { schema: ProblemBody } } },
  ])
  return Object.fromEntries(responses) as {
    readonly [S in Status]: { description: string; content: { 'application/problem+json': { schema: typeof ProblemBody } } }
  }
}
