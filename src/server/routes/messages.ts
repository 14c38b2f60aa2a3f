import { createRoute, z } from '@hono/zod-openapi'
import { turnResultView } from '../../agent/archive/stored-result.ts'
import { ChangedMessageView, MessageChange, MessagePending, WithdrawalView } from '../../core/api/turn.ts'
import { TurnResultView } from '../../core/api/turn-result.ts'
import { resultFor } from '../auth/viewer.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import { json, problems, withBody } from './openapi.ts'
import { idempotencyKey } from './submission.ts'

const params = z.object({
  id: z.string().describe('The id of the conversation.'),
  message: z.string().describe('The `event_id` in the response to the message.'),
})

/** How many seconds a request for the result of a message waits at most. Proxies often end requests that take a minute. */
const maxWaitSeconds = 30

/** Routes for messages. The id of a message is the `event_id` in the response to it. */
export function messageRoutes({ agent, newId, shutdown }: ServerParts): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/messages/{message}/result',
        summary: 'The result of the turn that answers a message. Waits until the turn is closed, at most `wait` seconds',
        request: {
          params,
          query: z.strictObject({
            wait: z.coerce.number().min(0).max(maxWaitSeconds).default(0).describe('How many seconds to wait for the end of the turn.'),
          }),
        },
        responses: {
          200: json(TurnResultView, 'the result'),
          202: json(MessagePending, 'the turn is not closed yet: ask again'),
          ...problems(400, 401, 404, 410),
        },
      }),
      async (c) => {
        const timeUp = AbortSignal.timeout(Math.max(1, c.req.valid('query').wait * 1000))
        const signal = AbortSignal.any([timeUp, shutdown, c.req.raw.signal])
        try {
          const result = await agent.untilClosed(conversationKeyOf(c), c.req.valid('param').message, { signal })
          return c.json(resultFor(c.get('caller'), turnResultView(result)), 200)
        } catch (error) {
          if (!signal.aborted) throw error
          const { waits } = await agent.waiting({ conversationId: conversationKeyOf(c) })
          return c.json({ status: waits.length > 0 ? ('waiting' as const) : ('pending' as const) }, 202)
        }
      },
    )
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
        request: {
          params,
          headers: z.object({
            'idempotency-key': z
              .string()
              .max(64)
              .optional()
              .describe('A key for one message. The server accepts only one message with the same key.'),
          }),
          ...withBody(MessageChange),
        },
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
