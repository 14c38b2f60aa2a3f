import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { AgUiInput, UiMessageInput, UserMessage } from '../../core/api/chat-message.ts'
import { type App, createApp, keyOf, type Passed, type ServerParts } from '../context.ts'
import type { Followers } from '../limits/followers.ts'
import type { TurnGate } from '../limits/turn-gate.ts'
import { invalidRequest } from '../problem.ts'
import { problems, withBody } from '../routes/describe.ts'
import { answerTo } from './answer-to.ts'
import { tell } from './tell.ts'

/** For clients that know nothing of turns: they say something and read the answer from the same connection. */
export function chatRoutes(parts: ServerParts, followers: Followers, gate: TurnGate): App {
  const ask = (c: Context<Passed>, messages: readonly unknown[], as: 'ag-ui' | 'ui-message') =>
    answer(c, messages, as, parts, followers, gate)
  return createApp()
    .openapi(agUi, (c) => ask(c, c.req.valid('json').messages, 'ag-ui'))
    .openapi(uiMessage, (c) => ask(c, c.req.valid('json').messages, 'ui-message')) as App
}

async function answer(
  c: Context<Passed>,
  messages: readonly unknown[],
  as: 'ag-ui' | 'ui-message',
  parts: ServerParts,
  followers: Followers,
  gate: TurnGate,
): Promise<Response> {
  const { agent, newId } = parts
  const key = keyOf(c)
  const text = said(messages)
  const { lastSeq } = await agent.archive.head(key)
  const leaveGate = gate.enter(key)
  try {
    const eventId = newId()
    return await tell(c, parts, followers, {
      as,
      lastSeq,
      async events(signal) {
        await agent.submit(key, text, { eventId })
        return answerTo(agent.follow(key, { after: lastSeq, signal }), eventId)
      },
    })
  } finally {
    leaveGate()
  }
}

/** The last message is the new one. */
function said(messages: readonly unknown[]): string {
  const read = UserMessage.safeParse(messages.at(-1))
  if (!read.success) throw invalidRequest([{ path: ['messages'], message: 'the last must be a user’s, in text; files go to /turns' }])
  if (read.data.trim() === '') throw invalidRequest([{ path: ['messages'], message: 'say something' }])
  return read.data
}

const params = z.object({ id: z.string() })
const streamed = {
  200: { description: 'the answer, as server-sent events', content: { 'text/event-stream': { schema: z.string() } } },
  ...problems(400, 401, 404, 413, 415, 429),
}

const agUi = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/ag-ui',
  summary: 'Say something and read the answer, as AG-UI clients do',
  request: { params, ...withBody(AgUiInput) },
  responses: streamed,
})

const uiMessage = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/ui-message',
  summary: 'Say something and read the answer, as the chat transport of the AI SDK does',
  request: { params, ...withBody(UiMessageInput) },
  responses: streamed,
})
