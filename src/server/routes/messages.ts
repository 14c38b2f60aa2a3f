import { createRoute, z } from '@hono/zod-openapi'
import { ChangedMessageView, MessageChange, WithdrawalView } from '../../core/api/turn.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import { json, problems, withBody } from './openapi.ts'
import { idempotencyKey } from './submission.ts'

const params = z.object({ id: z.string(), message: z.string() })

/** Routes for messages that wait until a turn reads them. The id of a message is the `event_id` in the response to it. */
export function messageRoutes({ agent, newId }: ServerParts): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'delete',
        path: '/v1/conversations/{id}/messages/{message}',
        summary: 'Take back a message that no turn has read',
        request: { params },
        responses: { 200: json(WithdrawalView, 'no turn will read the message'), ...problems(401, 404, 409) },
      }),
      async (c) => c.json({ status: await agent.withdraw(conversationKeyOf(c), c.req.valid('param').message) }, 200),
    )
    .openapi(
      createRoute({
        method: 'patch',
        path: '/v1/conversations/{id}/messages/{message}',
        summary: 'Change the text of a message that no turn has read; its files stay',
        request: { params, headers: z.object({ 'idempotency-key': z.string().max(64).optional() }), ...withBody(MessageChange) },
        responses: { 200: json(ChangedMessageView, 'the message with the new text waits'), ...problems(400, 401, 404, 409) },
      }),
      async (c) => {
        const options = { eventId: idempotencyKey(c) ?? newId() }
        const { text } = c.req.valid('json')
        const { state, eventId } = await agent.changeMessage(conversationKeyOf(c), c.req.valid('param').message, text, options)
        return c.json({ status: state, event_id: eventId }, 200)
      },
    ) as App
}
