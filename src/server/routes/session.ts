import { createRoute } from '@hono/zod-openapi'
import { SessionView, SignInBody } from '../../core/api/session.ts'
import type { Sessions } from '../auth/sessions.ts'
import { type App, createRoutes } from '../handler.ts'
import { RequestProblem } from '../problem.ts'
import { json, problems, withBody } from './openapi.ts'

/** The route with which the page exchanges the code of a sign-in link for a token. */
export function sessionRoutes(sessions: Pick<Sessions, 'exchange'>): App {
  return createRoutes().openapi(
    createRoute({
      method: 'post',
      path: '/v1/session',
      summary: 'Exchange the code of a sign-in link for a token; needs no token',
      request: withBody(SignInBody),
      responses: { 200: json(SessionView, 'the token of the session'), ...problems(400, 401) },
    }),
    (c) => {
      const session = sessions.exchange(c.req.valid('json').code)
      if (!session)
        throw new RequestProblem(401, 'code.refused', 'The link was used before or is too old. Start the server again for a new one.')
      return c.json({ token: session.token, expires_at: new Date(session.expiresAtMs).toISOString() }, 200)
    },
  ) as App
}
