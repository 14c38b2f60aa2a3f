import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Completion, Decision, Waiting } from '../../agent/waiting.ts'
import { conversationOfToken } from '../../agent/waits/completion-token.ts'
import { replyIdOf } from '../../agent/waits/describe-wait.ts'
import { isBudgetWait } from '../../agent/waits/wait-events.ts'
import { CompletionBody, DecisionBody, RecordedView, WaitList, WaitQuery, type WaitView } from '../../core/api/waiting.ts'
import { readToolCall } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { InvalidOption } from '../../core/options.ts'
import { conversationKeyFilter, parseConversationKey } from '../../core/scope.ts'
import { budgetKindOf } from '../../core/shared-budget.ts'
import { questionForUser } from '../../core/view/user-events.ts'
import { completionTokenHeader } from '../auth/completion-token.ts'
import { blocksFor, isLocalCaller, isOperator, requireOperator } from '../auth/viewer.ts'
import { type App, conversationOrChildKeyOf, createRoutes, type Env, type ServerParts } from '../handler.ts'
import { invalidRequest, RequestProblem } from '../problem.ts'
import { json, problems, withBody } from './openapi.ts'

const params = z.object({ id: z.string().describe('The id of the conversation.') })
const callParams = z.object({ id: z.string().describe('The id of the conversation.'), call: z.string().describe('The id of the call.') })

/**
 * Routes for turns that wait. The user of a conversation may decide about a call, unless its tool asks for an operator. Late results are
 * accepted from operators, and from systems with the token of the call in a header.
 */
export function waitingRoutes({ agent, settings }: ServerParts): App {
  function viewOf(c: Context<Env>, { call, conversationId, turnId, waitId, kind, params, ...wait }: Waiting): WaitView {
    const [block] = call ? blocksFor(c.get('caller'), [call], settings) : []
    const shown = block && readToolCall(block)
    const question = isOperator(c.get('caller')) ? wait.question : questionForUser(wait)
    return {
      conversation_id: parseConversationKey(conversationId).name,
      turn_id: turnId,
      wait_id: waitId,
      kind,
      ...(wait.callId !== undefined && { call_id: wait.callId }),
      ...(shown && { tool_id: shown.tool_id, params: (block === call ? (params ?? {}) : shown.params) as Record<string, unknown> }),
      ...(question !== undefined && { question }),
      ...(wait.expiresAt !== undefined && { expires_at: wait.expiresAt }),
      ...(wait.approver && { approver: wait.approver }),
      ...(wait.schema && { schema: wait.schema }),
      ...(wait.childId !== undefined && { child_id: parseConversationKey(wait.childId).name }),
    }
  }

  /**
   * Throws if an operator has to decide about this call and the caller is not an operator. Also throws if the caller would raise a budget
   * that all tenants share, because only the one user of a server without tokens may do this.
   */
  async function checkApprover(c: Context<Env>, key: string, callId: string, approved: boolean): Promise<void> {
    const { waits } = await agent.waiting({ conversationId: key })
    const wait = waits.find((each) => replyIdOf(each) === callId || each.waitId === callId)
    // This also checks ids of budget waits for which no wait was found: such an id can be guessed, and the wait may begin after this check.
    if (wait?.approver === 'operator' || isBudgetWait(callId)) requireOperator(c)
    if (approved && wait?.budget !== undefined && budgetKindOf(wait.budget) === 'day' && !isLocalCaller(c.get('caller')))
      throw new RequestProblem(403, 'role.refused', 'The budget does not belong to your tenant.')
  }

  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/waiting',
        summary: 'What the turns of your conversations wait for',
        request: { query: WaitQuery },
        responses: { 200: json(WaitList, 'a page of waits'), ...problems(400, 401) },
      }),
      async (c) => {
        const { limit, cursor } = c.req.valid('query')
        const filter = conversationKeyFilter(c.get('caller').scope)
        const page = await agent.waiting({ limit, ...filter, ...(cursor !== undefined && { cursor }) })
        return c.json({ waits: page.waits.map((wait) => viewOf(c, wait)), ...(page.next !== undefined && { next: page.next }) }, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/waiting',
        summary: 'What the turn of this conversation waits for',
        request: { params },
        responses: { 200: json(WaitList, 'the waits'), ...problems(401, 404) },
      }),
      async (c) => {
        const { waits } = await agent.waiting({ conversationId: conversationOrChildKeyOf(c) })
        return c.json({ waits: waits.map((wait) => viewOf(c, wait)) }, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/calls/{call}/decision',
        summary: 'Approve or refuse a call that waits for an approval',
        request: { params: callParams, ...withBody(DecisionBody) },
        responses: { 202: json(RecordedView, 'the decision is stored'), ...problems(400, 401, 403, 404, 409, 410) },
      }),
      async (c) => {
        const key = conversationOrChildKeyOf(c)
        const { call } = c.req.valid('param')
        // the schema of the body has the fields of `Decision`
        const decision = { ...c.req.valid('json'), by: c.get('caller').scope.user } as Decision
        await checkApprover(c, key, call, decision.approved)
        return c.json({ status: await checked(agent.decide(key, call, decision)) }, 202)
      },
    )
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/calls/{call}/completion',
        summary: 'Deliver the late result of a call; for operators, or with the token of the call',
        request: { params: callParams, ...withBody(CompletionBody) },
        responses: { 202: json(RecordedView, 'the result is stored'), ...problems(400, 401, 403, 404, 409) },
      }),
      async (c) => {
        const completion = c.req.valid('json') as Completion // the schema of the body has the fields of `Completion`
        const { id, call } = c.req.valid('param')
        const token = c.req.header(completionTokenHeader)
        if (token === undefined) {
          requireOperator(c)
          return c.json({ status: await checked(agent.complete(conversationOrChildKeyOf(c), call, completion)) }, 202)
        }
        const key = conversationOfToken(token)
        if (key === undefined || parseConversationKey(key).name !== id) throw new Failure('call.refused', 'the token is for another call')
        return c.json({ status: await checked(agent.complete(key, call, completion, { token })) }, 202)
      },
    ) as App
}

/** If a value is not valid, for example because an answer lacks a field of the question, turns the error into a problem of the request. */
async function checked<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof InvalidOption) throw invalidRequest([{ path: error.option.split('.'), message: error.message }])
    throw error
  }
}
