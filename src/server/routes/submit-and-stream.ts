import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { AgUiInput, UiMessageInput, UserMessage } from '../../core/api/turn.ts'
import type { TurnEvent } from '../../core/event.ts'
import { streamEvents } from '../events/stream-events.ts'
import { type App, conversationKeyOf, createRoutes, type Env, type ServerParts } from '../handler.ts'
import type { StreamQuota, TurnQuota } from '../limits/quotas.ts'
import { invalidRequest } from '../problem.ts'
import { problems, withBody } from './openapi.ts'

/** For clients that know nothing of turns: they say something and read the answer from the same connection. */
export function chatRoutes(parts: ServerParts, followers: StreamQuota, gate: TurnQuota): App {
  const ask = (c: Context<Env>, messages: readonly unknown[], as: 'ag-ui' | 'ui-message') =>
    submitAndStream(c, messages, as, parts, followers, gate)
  return createRoutes()
    .openapi(agUi, (c) => ask(c, c.req.valid('json').messages, 'ag-ui'))
    .openapi(uiMessage, (c) => ask(c, c.req.valid('json').messages, 'ui-message')) as App
}

async function submitAndStream(
  c: Context<Env>,
  messages: readonly unknown[],
  as: 'ag-ui' | 'ui-message',
  parts: ServerParts,
  followers: StreamQuota,
  gate: TurnQuota,
): Promise<Response> {
  const { agent, newId } = parts
  const key = conversationKeyOf(c)
  const text = lastUserText(messages)
  const { lastSeq } = await agent.archive.head(key)
  const leaveGate = gate.acquire(key)
  try {
    const eventId = newId()
    return await streamEvents(c, parts, followers, {
      as,
      lastSeq,
      async events(signal) {
        await agent.submit(key, text, { eventId })
        return eventsOfTurn(agent.follow(key, { after: lastSeq, signal }), eventId)
      },
    })
  } finally {
    leaveGate()
  }
}

/** The last message is the new one. */
function lastUserText(messages: readonly unknown[]): string {
  const read = UserMessage.safeParse(messages.at(-1))
  if (!read.success) throw invalidRequest([{ path: ['messages'], message: 'the last must be a user’s, in text; files go to /turns' }])
  if (read.data.trim() === '') throw invalidRequest([{ path: ['messages'], message: 'say something' }])
  return read.data
}

const params = z.object({ id: z.string() })
const streamResponses = {
  200: { description: 'the answer, as server-sent events', content: { 'text/event-stream': { schema: z.string() } } },
  ...problems(400, 401, 404, 413, 415, 429),
}

const agUi = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/ag-ui',
  summary: 'Say something and read the answer, as AG-UI clients do',
  request: { params, ...withBody(AgUiInput) },
  responses: streamResponses,
})

const uiMessage = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/ui-message',
  summary: 'Say something and read the answer, as the chat transport of the AI SDK does',
  request: { params, ...withBody(UiMessageInput) },
  responses: streamResponses,
})

/**
 * Of everything that happens in a conversation, the turn that takes a message in, from there to its end. A message to a busy
 * conversation may have to wait for the turn that is running.
 */
export async function* eventsOfTurn(events: AsyncIterable<TurnEvent>, eventId: string): AsyncGenerator<TurnEvent> {
  let opened: TurnEvent | undefined
  let turnId: string | null | undefined
  for await (const event of events) {
    const change = event.type === 'entry' ? event.change : undefined
    if (turnId === undefined) {
      if (change?.type === 'turn.opened') opened = event
      if (change?.type !== 'event.folded' || !change.event_ids.includes(eventId)) continue
      turnId = change.turn_id
      if (turnId === null) return // set aside: nobody answers it
      if (opened?.type === 'entry' && opened.change.type === 'turn.opened' && opened.change.turn_id === turnId) yield opened
    }
    yield event
    if (change?.type === 'turn.closed' && change.turn_id === turnId) return
  }
}
