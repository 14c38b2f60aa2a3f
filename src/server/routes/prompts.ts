import { createRoute, z } from '@hono/zod-openapi'
import { PromptView } from '../../core/api/prompt.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import { json, problems } from './openapi.ts'

const roundParams = z.object({
  id: z.string(),
  turn: z.string().max(200),
  iteration: z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number),
})

/** For whoever debugs an agent. */
export function promptRoutes({ agent: { archive } }: ServerParts): App {
  return createRoutes().openapi(
    createRoute({
      method: 'get',
      path: '/v1/conversations/{id}/rounds/{turn}/{iteration}/prompt',
      summary: 'What the model read in one round, with its cache marks',
      request: { params: roundParams },
      responses: { 200: json(PromptView, 'the prompt'), ...problems(400, 401, 404) },
    }),
    async (c) => {
      const { turn, iteration } = c.req.valid('param')
      return c.json(await archive.prompt(conversationKeyOf(c), turn, iteration), 200)
    },
  ) as App
}
