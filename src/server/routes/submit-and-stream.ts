import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Agent } from '../../agent/agent-interface.ts'
import type { ConversationInfo } from '../../agent/archive/archive.ts'
import { AgUiInput, UiMessageInput, UserMessage } from '../../core/api/turn.ts'
import type { TurnEvent } from '../../core/event.ts'
import { Failure } from '../../core/failure.ts'
import { streamEvents } from '../events/stream-events.ts'
import { type App, conversationKeyOf, createRoutes, type Env, type ServerParts } from '../handler.ts'
import type { MessageQuota, StreamQuota } from '../limits/quotas.ts'
import { invalidRequest } from '../problem.ts'
import { noContent, problems, withBody } from './openapi.ts'

/** Routes for AG-UI and the AI SDK. Their clients post a message, and get the events of its turn as the response. */
export function submitAndStreamRoutes(parts: ServerParts, streams: StreamQuota, turns: MessageQuota): App {
  const respond = (c: Context<Env>, messages: readonly unknown[], as: 'ag-ui' | 'ui-message') =>
    submitAndStream(c, messages, as, parts, streams, turns)
  return createRoutes()
    .openapi(agUi, (c) => respond(c, c.req.valid('json').messages, 'ag-ui'))
    .openapi(uiMessage, (c) => respond(c, c.req.valid('json').messages, 'ui-message'))
    .openapi(resumeUiMessage, async (c) => {
      const key = conversationKeyOf(c)
      const { lastSeq = 0, openTurn = null } = (await findHead(parts.agent, key)) ?? {}
      if (openTurn === null) return c.body(null, 204) // for the AI SDK, 204 means that there is no turn to resume
      const events = (signal: AbortSignal) => eventsOfOpenTurn(parts.agent.follow(key, { after: 0, signal }), openTurn)
      return streamEvents(c, parts, streams, { as: 'ui-message', lastSeq, events })
    }) as App
}

async function submitAndStream(
  c: Context<Env>,
  messages: readonly unknown[],
  as: 'ag-ui' | 'ui-message',
  parts: ServerParts,
  streams: StreamQuota,
  turns: MessageQuota,
): Promise<Response> {
  const { agent, newId } = parts
  const key = conversationKeyOf(c)
  const text = lastUserText(messages)
  await turns.checkBacklog(key)
  const place = await turns.acquire(key)
  try {
    const { lastSeq } = (await findHead(agent, key)) ?? (await agent.archive.create(key))
    const eventId = newId()
    return await streamEvents(c, parts, streams, {
      as,
      lastSeq,
      async events(signal) {
        await agent.send(key, text, { eventId })
        return eventsOfTurn(agent.follow(key, { after: lastSeq, signal }), eventId)
      },
    })
  } finally {
    place.release()
  }
}

/**
 * The head of a conversation. Undefined if the conversation does not exist yet. Clients of AG-UI and the AI SDK do not create a
 * conversation before the first message.
 */
const findHead = (agent: Agent, key: string): Promise<ConversationInfo | undefined> =>
  agent.archive.head(key).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'conversation.missing') return undefined
    throw error
  })

/** The text of the last message. Clients send the whole conversation, but only the last message is new. */
function lastUserText(messages: readonly unknown[]): string {
  const message = UserMessage.safeParse(messages.at(-1))
  if (!message.success)
    throw invalidRequest([{ path: ['messages'], message: 'the last message must be from the user and have text; send files to /turns' }])
  if (message.data.trim() === '') throw invalidRequest([{ path: ['messages'], message: 'the last message is empty' }])
  return message.data
}

/**
 * The events of the turn that reads the message `eventId`, until this turn ends. If the running turn does not read the message, the events
 * begin with the next turn.
 */
async function* eventsOfTurn(events: AsyncIterable<TurnEvent>, eventId: string): AsyncGenerator<TurnEvent> {
  let opened: TurnEvent | undefined
  let turnId: string | null | undefined
  for await (const event of events) {
    const change = event.type === 'entry' ? event.change : undefined
    if (turnId === undefined) {
      if (change?.type === 'turn.opened') opened = event
      if (change?.type !== 'event.folded' || !change.event_ids.includes(eventId)) continue
      turnId = change.turn_id
      if (turnId === null) return // the message expired or was withdrawn, so no turn will answer it
      if (opened?.type === 'entry' && opened.change.type === 'turn.opened' && opened.change.turn_id === turnId) yield opened
    }
    yield event
    if (change?.type === 'turn.closed' && change.turn_id === turnId) return
  }
}

/** The events of an open turn, from its beginning to its end. */
async function* eventsOfOpenTurn(events: AsyncIterable<TurnEvent>, turnId: string): AsyncGenerator<TurnEvent> {
  let begun = false
  for await (const event of events) {
    const change = event.type === 'entry' ? event.change : undefined
    begun ||= change?.type === 'turn.opened' && change.turn_id === turnId
    if (begun) yield event
    if (change?.type === 'turn.closed' && change.turn_id === turnId) return
  }
}

const params = z.object({ id: z.string().describe('The id of the conversation.') })
const streamResponses = {
  200: { description: 'the answer, as server-sent events', content: { 'text/event-stream': { schema: z.string() } } },
  ...problems(400, 401, 404, 413, 415, 429, 503),
}

const agUi = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/ag-ui',
  summary: 'Send a message and read the answer, for AG-UI clients',
  request: { params, ...withBody(AgUiInput) },
  responses: streamResponses,
})

const uiMessage = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/ui-message',
  summary: 'Send a message and read the answer, for the chat transport of the AI SDK',
  request: { params, ...withBody(UiMessageInput) },
  responses: streamResponses,
})

const resumeUiMessage = createRoute({
  method: 'get',
  path: '/v1/conversations/{id}/ui-message/{chat}/stream',
  summary: 'Read the answer of the running turn again from its beginning, for the resume function of the AI SDK',
  request: {
    params: z.object({
      id: z.string().describe('The id of the conversation.'),
      chat: z.string().describe('The id of the chat. The server ignores it.'),
    }),
  },
  responses: {
    200: streamResponses[200],
    204: noContent('no turn is running'),
    ...problems(401, 404, 429),
  },
})
