import { createRoute, z } from '@hono/zod-openapi'
import type { Accepted } from '../../agent/message.ts'
import { jsonSchema } from '../../agent/turn/output.ts'
import { FeedbackBody, StopAccepted, SubmitMode, TurnAccepted, TurnSubmission } from '../../core/api/turn.ts'
import { errorMessage } from '../../core/failure.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { InvalidOption } from '../../core/options.ts'
import { parseConversationKey } from '../../core/scope.ts'
import type { StandardSchemaV1 } from '../../core/standard-schema.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import { budgetHeaders } from '../limits/budget-left.ts'
import type { MessageQuota } from '../limits/quotas.ts'
import { rateHeaders } from '../limits/rate-limit.ts'
import { invalidRequest } from '../problem.ts'
import { json, noContent, problems } from './openapi.ts'
import { idempotencyKey, parseSubmission } from './submission.ts'

const params = z.object({ id: z.string().describe('The id of the conversation.') })
const acceptedStatuses = { turn: 'processing_started', followup: 'followup_accepted', known: 'already_accepted' } as const

/**
 * Routes for messages, stop and feedback. The response to a message is sent when the message is stored. The answer arrives in the event
 * stream.
 */
export function turnRoutes({ agent, newId, log }: ServerParts, quota: MessageQuota): App {
  const app = createRoutes()
  app.openAPIRegistry.registerPath(submitRoute)
  app.post('/v1/conversations/:id/turns', async (c) => {
    const key = conversationKeyOf(c)
    const message = await parseSubmission(c)
    const eventId = idempotencyKey(c) ?? newId()
    if (message.mode === 'steer' || message.mode === 'wrap_up') {
      await agent.archive.head(key)
      if (message.attachments.length > 0)
        throw invalidRequest([{ path: ['attachments'], message: 'a steer can not carry files; send them as a followup' }])
      const mode = message.mode === 'steer' ? 'redirect' : 'wrap_up'
      const steered = await agent.steer(key, message.text, { mode, eventId })
      if (steered === true) return c.json(acceptance(key, 'steer_accepted', null, eventId), 202)
      const stopsNothing = message.text.trim() === '' // an empty steer only asks for a stop. No turn is running, so there is nothing to do
      if (steered === 'known' || stopsNothing) return c.json(acceptance(key, 'already_accepted', null, eventId), 202)
    }
    await quota.checkBacklog(key)
    // the limits are checked before all other work, so that a refusal takes little time
    const place = await quota.acquire(key, { hasFiles: message.attachments.length > 0 })
    try {
      await agent.archive.head(key)
      const { model, tools, ask, output } = message.options ?? {}
      const options = {
        ...(model !== undefined && { model }),
        ...(tools && { tools }),
        ...(ask && { ask }),
        ...(output && { output: outputOf(output) }),
      }
      const accepted: Accepted = await agent.send(key, message.text, { attachments: message.attachments, eventId, ...options })
      // The message is stored, so the response must not fail because the budgets can not be read.
      const left = await budgetHeaders(agent.budgets, c.get('caller'), key).catch((error: unknown) => {
        log('warn', 'budgets.unread', { request_id: c.get('requestId'), error })
        return {}
      })
      for (const [name, value] of Object.entries({ ...left, ...rateHeaders(place.rate) })) c.header(name, value)
      return c.json(acceptance(key, acceptedStatuses[accepted.how], accepted.turnId ?? null, eventId), 202)
    } catch (error) {
      if (error instanceof InvalidOption) throw invalidRequest([{ path: ['options', error.option], message: error.message }])
      throw error
    } finally {
      place.release()
    }
  })
  return app
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/stop',
        summary: 'Stop the running turn; its results so far are kept',
        request: { params },
        responses: { 202: json(StopAccepted, 'whether a turn was running'), ...problems(401, 404) },
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
        summary: 'Give feedback on a turn; the agent reads it in the next turn',
        request: { params, body: { required: true, content: { 'application/json': { schema: FeedbackBody } } } },
        responses: { 204: noContent('the feedback is stored'), ...problems(400, 401, 404) },
      }),
      async (c) => {
        const { turn_id: turnId, reaction, text } = c.req.valid('json')
        const key = conversationKeyOf(c)
        await agent.archive.turnLog(key, turnId)
        await agent.feedback(key, text ?? '', { turnId, ...(reaction !== undefined && { reaction }) })
        return c.body(null, 204)
      },
    ) as App
}

/**
 * The schema of an output. Patterns are refused, because the server would have to run a regular expression of the client, which can take
 * very long.
 */
function outputOf(schema: Readonly<Record<string, unknown>>): StandardSchemaV1 {
  const refuse = (message: string) => invalidRequest([{ path: ['options', 'output'], message }])
  if (hasPattern(schema)) throw refuse('`pattern`, `patternProperties` and `format` are not accepted')
  try {
    return jsonSchema(schema as JsonObject) // the body was parsed from JSON, so the schema is a JSON object
  } catch (error) {
    throw refuse(`not a JSON Schema that can be checked: ${errorMessage(error)}`)
  }
}

const patternKeys: ReadonlySet<string> = new Set(['pattern', 'patternProperties', 'format'])

/** Whether a schema has a keyword for patterns. Names of properties are not keywords. */
function hasPattern(schema: unknown, isSchema = true): boolean {
  if (Array.isArray(schema)) return schema.some((item) => hasPattern(item))
  if (!isObject(schema)) return false
  return Object.entries(schema).some(
    ([key, value]) => (isSchema && patternKeys.has(key)) || hasPattern(value, !isSchema || !isMapOfSchemas(key)),
  )
}

const isMapOfSchemas = (key: string): boolean => key === 'properties' || key === '$defs' || key === 'definitions'

const submitRoute = createRoute({
  method: 'post',
  path: '/v1/conversations/{id}/turns',
  summary: 'Send a message: it starts a turn, or joins the running one',
  request: {
    params,
    headers: z.object({
      'idempotency-key': z
        .string()
        .max(64)
        .optional()
        .describe('A key for one message. The server accepts only one message with the same key.'),
    }),
    body: {
      required: true,
      content: {
        'application/json': { schema: TurnSubmission },
        'multipart/form-data': {
          schema: z.object({
            text: z.string().optional().describe('The message.'),
            mode: SubmitMode.optional().describe('The same as `mode` of the JSON body.'),
            options: z.string().optional().describe('The options as JSON.'),
            files: z.array(z.string()).optional().describe('Any number of files.'),
          }),
        },
      },
    },
  },
  responses: { 202: json(TurnAccepted, 'the message is stored'), ...problems(400, 401, 404, 409, 413, 415, 429, 503) },
})

const acceptance = (key: string, status: TurnAccepted['status'], turn_id: string | null, event_id: string): TurnAccepted => ({
  status,
  conversation_id: parseConversationKey(key).name,
  turn_id,
  event_id,
})
