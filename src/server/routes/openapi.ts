import type { z } from '@hono/zod-openapi'
import { ProblemBody } from '../../core/api/problem.ts'

/** The parts of a route's description, so that routes read as what they do. */

export const json = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
})

export const withBody = <Schema extends z.ZodType>(schema: Schema) => ({
  body: { required: true, content: { 'application/json': { schema } } },
})

export const noContent = (description: string) => ({ description })

const problemDescriptions = {
  400: 'the request is not what this route takes',
  401: 'nobody is known by this token',
  403: 'refused',
  404: 'there is no such thing, or it is somebody else’s',
  409: 'it is taken, or somebody is at work on it',
  412: 'it is not what you have',
  413: 'too large',
  415: 'of a type this route does not take',
  416: 'there is no such range',
  422: 'well-formed, but not meaningful',
  429: 'too many; `Retry-After` says when',
} as const

type ProblemStatus = keyof typeof problemDescriptions

/** Problems all look alike. */
export function problems<Status extends ProblemStatus>(...statuses: readonly Status[]) {
  const described = statuses.map((status) => [
    status,
    { description: problemDescriptions[status], content: { 'application/problem+json': { schema: ProblemBody } } },
  ])
  return Object.fromEntries(described) as {
    readonly [S in Status]: { description: string; content: { 'application/problem+json': { schema: typeof ProblemBody } } }
  }
}
