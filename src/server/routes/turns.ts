import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Accepted } from '../../agent/message.ts'
import { FeedbackBody, StopAccepted, SubmitMode, TurnAccepted, TurnSubmission } from '../../core/api/turn.ts'
import { isId } from '../../core/path/safety.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { type App, conversationKeyOf, createRoutes, type Env, type ServerParts } from '../handler.ts'
import type { TurnQuota } from '../limits/quotas.ts'
import { invalidRequest, RequestProblem } from '../problem.ts'
import { json, noContent, problems } from './openapi.ts'
import { parseSubmissionForm, type SubmissionForm } from './submission.ts'

const id = z.object({ id: z.string() })
const acceptedStatuses = { turn: 'processing_started', followup: 'followup_accepted', known: 'already_accepted' } as const

/** What is said to a conversation. Accepted is not answered: whoever wants to see what comes of it follows the events. */
export function turnRoutes({ agent, newId }: ServerParts, gate: TurnQuota): App {
  const app = createRoutes()
  app.openAPIRegistry.registerPath(submitRoute)
  app.post('/v1/conversations/:id/turns', async (c) => {
    const key = conversationKeyOf(c)
    const said = await readSubmission(c)
    const eventId = idempotencyKey(c) ?? newId()
    await agent.archive.head(key)
    if (said.mode === 'steer' || said.mode === 'wrap_up') {
      if (said.attachments.length > 0)
        throw invalidRequest([{ path: ['attachments'], message: 'a steer carries no files; send them as a followup' }])
      const mode = said.mode === 'steer' ? 'redirect' : 'wrap_up'
      if (await agent.steer(key, said.text, { mode, eventId })) return c.json(accepted(key, 'steer_accepted', null, eventId), 202)
      if (said.text.trim() === '') return c.json(accepted(key, 'already_accepted', null, eventId), 202) // nothing runs: there is nothing to stop
    }
    const leave = gate.acquire(key)
    try {
      const told: Accepted = await agent.submit(key, said.text, { attachments: said.attachments, eventId })
      return c.json(accepted(key, acceptedStatuses[told.how], told.turnId ?? null, eventId), 202)
    } finally {
      leave()
    }
  })
  return app
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/stop',
        summary: 'Stop the running turn; what was done is kept',
        request: { params: id },
        responses: { 202: json(StopAccepted, 'whether anything was running'), ...problems(401, 404) },
      }),
      async (c) => {
        const key = conversationKeyOf(c)
        await agent.archive.head(key)
        return c.json({ stopped: await agent.stop(key) }, 202)
      },
    )
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/feedback',
        summary: 'Say what you think of a turn; the agent hears of it in the next',
        request: { params: id, body: { required: true, content: { 'application/json': { schema: FeedbackBody } } } },
        responses: { 204: noContent('taken in'), ...problems(400, 401, 404) },
      }),
      async (c) => {
        const { turn_id: turnId, reaction, text } = c.req.valid('json')
        const key = conversationKeyOf(c)
        await agent.archive.turnLog(key, turnId)
        await agent.feedback(key, { turnId, ...(reaction !== undefined && { reaction }), ...(text !== undefined && { text }) })
        return c.body(null, 204)
      },
    ) as App
}

const submitRoute = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/turns',
  summary: 'Say something: a turn begins, or the running one takes it in',
  request: {
    params: id,
    headers: z.object({ 'idempotency-key': z.string().max(64).optional() }),
    body: {
      required: true,
      content: {
        'application/json': { schema: TurnSubmission },
        'multipart/form-data': {
          schema: z.object({ text: z.string().optional(), mode: SubmitMode.optional(), files: z.array(z.string()).optional() }),
        },
      },
    },
  },
  responses: { 202: json(TurnAccepted, 'it will not be lost'), ...problems(400, 401, 404, 409, 413, 415, 429) },
})

const accepted = (key: string, status: TurnAccepted['status'], turn_id: string | null, event_id: string): TurnAccepted => ({
  status,
  conversation_id: parseConversationKey(key).name,
  turn_id,
  event_id,
})

interface SubmittedMessage {
  readonly text: string
  readonly mode: z.infer<typeof SubmitMode>
  readonly attachments: readonly { readonly name: string; readonly mime?: string; readonly content: Uint8Array }[]
}

async function readSubmission(c: Context<Env>): Promise<SubmittedMessage> {
  const type = (c.req.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/json') return fromJson(await c.req.json())
  if (type === 'multipart/form-data') return fromForm(await parseSubmissionForm(c))
  throw new RequestProblem(415, 'request.unsupported', 'Send application/json or multipart/form-data.')
}

function fromJson(body: unknown): SubmittedMessage {
  const parsed = TurnSubmission.safeParse(body)
  if (!parsed.success) throw invalidRequest(parsed.error.issues)
  const { text, mode, attachments } = parsed.data
  const files = attachments.map(({ name, mime, base64 }, index) => {
    const content = Buffer.from(base64, 'base64')
    if (content.toString('base64') !== base64) {
      throw invalidRequest([{ path: ['attachments', index, 'base64'], message: 'not base64 in its ordinary form' }])
    }
    return { name, content, ...(mime !== undefined && { mime }) }
  })
  return requireContent({ text, mode, attachments: files })
}

async function fromForm({ text = '', mode, files }: SubmissionForm): Promise<SubmittedMessage> {
  const parsed = TurnSubmission.safeParse({ text, ...(mode !== undefined && { mode }) })
  if (!parsed.success) throw invalidRequest(parsed.error.issues)
  const attachments = await Promise.all(
    files.map(async (file) => {
      return { name: file.name, content: new Uint8Array(await file.arrayBuffer()), ...(file.type !== '' && { mime: file.type }) }
    }),
  )
  return requireContent({ text: parsed.data.text, mode: parsed.data.mode, attachments })
}

function requireContent(said: SubmittedMessage): SubmittedMessage {
  if (said.mode === 'followup' && said.text.trim() === '' && said.attachments.length === 0) {
    throw invalidRequest([{ path: ['text'], message: 'say something, or attach something' }])
  }
  return said
}

/** It becomes part of a path in the timeline. */
function idempotencyKey(c: Context<Env>): string | undefined {
  const key = c.req.header('idempotency-key')
  if (key === undefined || (isId(key) && key.length <= 64)) return key
  throw invalidRequest([{ path: ['Idempotency-Key'], message: 'letters, digits, "_" and "-", at most 64' }])
}
