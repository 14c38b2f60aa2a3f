import { createRoute, z } from '@hono/zod-openapi'
import type { SchedulePage } from '../../../agent/schedules.ts'
import { ScheduleBody, ScheduledView, ScheduleList, ScheduleListQuery, scheduleView } from '../../../core/api/schedule.ts'
import { Failure } from '../../../core/failure.ts'
import { conversationKeyFilter, type Scope, userKey } from '../../../core/scope.ts'
import { isOperator } from '../../auth/viewer.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../../handler.ts'
import { tooMany } from '../../limits/quotas.ts'
import { type RateLimit, rateHeaders } from '../../limits/rate-limit.ts'
import { json, noContent, problems, withBody } from '../openapi.ts'

const params = z.object({ id: z.string().describe('The id of the conversation.') })

/** Routes for messages that are sent at a later time. */
export function scheduleRoutes({ agent, settings, now }: ServerParts, messages: RateLimit): App {
  const viewOf = ({ schedules, next }: SchedulePage): ScheduleList => ({
    schedules: schedules.map(scheduleView),
    ...(next !== undefined && { next }),
  })

  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/schedules',
        summary: 'The messages that will be sent to your conversations, the next one first',
        request: { query: ScheduleListQuery },
        responses: { 200: json(ScheduleList, 'a page of schedules'), ...problems(400, 401) },
      }),
      async (c) => {
        const { limit, cursor } = c.req.valid('query')
        const filter = conversationKeyFilter(c.get('caller').scope)
        return c.json(viewOf(await agent.schedules({ limit, ...filter, ...(cursor !== undefined && { cursor }) })), 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/schedules',
        summary: 'The messages that will be sent to this conversation, the next one first',
        request: { params, query: ScheduleListQuery },
        responses: { 200: json(ScheduleList, 'a page of schedules'), ...problems(400, 401, 404) },
      }),
      async (c) => {
        const key = conversationKeyOf(c)
        const { limit, cursor } = c.req.valid('query')
        await agent.archive.head(key)
        return c.json(viewOf(await agent.schedules({ conversationId: key, limit, ...(cursor !== undefined && { cursor }) })), 200)
      },
    )
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/schedules',
        summary: 'Send a message at a later time, once or again and again',
        request: { params, ...withBody(ScheduleBody) },
        responses: { 201: json(ScheduledView, 'the message will be sent'), ...problems(400, 401, 409, 429) },
      }),
      async (c) => {
        const { text, at, every, schedule_id: scheduleId, notification } = c.req.valid('json')
        const { source, reactive } = notification ?? {}
        const key = conversationKeyOf(c)
        const { scope } = c.get('caller')
        const rate = await messages.take(userKey(scope), Date.parse(now()))
        if (rate.retrySeconds > 0) throw tooMany('Too many messages in a short time.', rate.retrySeconds, rateHeaders(rate))
        if (!isOperator(c.get('caller'))) await checkScheduled(agent, scope, { key, scheduleId, every }, settings.turnsPerMinute)
        const scheduled = await agent.schedule(key, text, {
          ...(at !== undefined && { at }),
          ...(every !== undefined && { every }),
          ...(scheduleId !== undefined && { scheduleId }),
          ...(notification && { notification: { ...(source !== undefined && { source }), ...(reactive !== undefined && { reactive }) } }),
        })
        return c.json({ status: scheduled.status, schedule_id: scheduled.scheduleId, next_at: scheduled.nextAt }, 201)
      },
    )
    .openapi(
      createRoute({
        method: 'delete',
        path: '/v1/conversations/{id}/schedules/{schedule}',
        summary: 'Remove a schedule',
        request: {
          params: z.object({
            id: z.string().describe('The id of the conversation.'),
            schedule: z.string().describe('The id of the schedule.'),
          }),
        },
        responses: { 204: noContent('the message will not be sent'), ...problems(401, 404) },
      }),
      async (c) => {
        const { schedule } = c.req.valid('param')
        if (await agent.unschedule(conversationKeyOf(c), schedule)) return c.body(null, 204)
        throw new Failure('schedule.missing', `there is no schedule ${schedule} in this conversation`)
      },
    ) as App
}

/** The maximum number of schedules of a user. At most this many are read. */
const MAX_SCHEDULES = 500

/**
 * Throws `schedule.limit` if all schedules of the user together would send more messages a minute than a user may send. Without this check,
 * a user could exceed the limit of messages with schedules, because each conversation may have 100 schedules.
 */
async function checkScheduled(
  agent: ServerParts['agent'],
  scope: Scope,
  { key, scheduleId, every }: { readonly key: string; readonly scheduleId: string | undefined; readonly every: number | undefined },
  perMinute: number,
): Promise<void> {
  const { schedules } = await agent.schedules({ limit: MAX_SCHEDULES, ...conversationKeyFilter(scope) })
  // creating a schedule that exists already changes nothing, so the limits do not apply
  if (schedules.some((each) => each.conversationId === key && each.scheduleId === scheduleId)) return
  const rates = [...schedules.map((each) => each.every), every].map((seconds) => (seconds === undefined ? 0 : 60 / seconds))
  const total = rates.reduce((sum, rate) => sum + rate, 0)
  if (schedules.length < Math.min(MAX_SCHEDULES, perMinute) && total <= perMinute) return
  throw new Failure(
    'schedule.limit',
    `a user has at most ${Math.min(MAX_SCHEDULES, perMinute)} schedules, which send at most ${perMinute} messages a minute in total: remove one first`,
  )
}
