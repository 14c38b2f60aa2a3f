import { type Block, readToolCall } from '../core/block/index.ts'
import { Failure } from '../core/failure.ts'
import { isObject, type JsonObject, parseJson } from '../core/json.ts'
import { expects, filledText, flag, group, numberFrom, optional, text } from '../core/options.ts'
import { isChildKey } from '../core/scope.ts'
import type { StoredOutcome, Wait } from '../core/timeline/change.ts'
import { isKnownEvent } from '../core/timeline/timeline.ts'
import type { Clock } from '../ports/clock.ts'
import type { ConversationStore, OfferedEvent } from '../ports/store.ts'
import type { ToolError } from '../tools/tool.ts'
import type { Problem } from './agent-context.ts'
import { headOf, type WaitingPage, type WaitingQuery, waitingList } from './archive/waiting-list.ts'
import { isBusy, isLost } from './conversation/claim.ts'
import type { RunningConversations } from './conversation/running.ts'
import { check } from './message.ts'
import { missingToolsIn } from './recovery/missing-tools.ts'
import type { Toolbox } from './tools.ts'
import { checkExtra } from './waits/budget-wait.ts'
import { checkReply } from './waits/check-reply.ts'
import { wakeCallers } from './waits/child-waits.ts'
import { hashToken } from './waits/completion-token.ts'
import { answerId, callIdInWaitId, completionId, decisionId, isBudgetWait, isExpired, replyKey } from './waits/wait-events.ts'

export type { Waiting, WaitingPage, WaitingQuery } from './archive/waiting-list.ts'

/** What a person decides about a call that waits for an approval. */
export interface Decision {
  readonly approved: boolean
  /** A text for the model, for example why the call was refused. */
  readonly note?: string
  /** The parameters with which the tool runs in place of those that the model wrote. A notice tells the model about the change. */
  readonly params?: JsonObject
  /** Who decided. The model reads it if the call is refused. */
  readonly by?: string
}

/** The late result of a call. */
export type Completion =
  | { readonly ok: true; readonly output?: unknown }
  | { readonly ok: false; readonly error: Pick<ToolError, 'code' | 'message'> & Partial<ToolError> }

/** Options of `Agent.complete`. */
export interface CompleteOptions {
  /** The token that the tool got from `call.completionToken()`. Pass it if the result comes from a system that has no other permission. */
  readonly token?: string
}

/**
 * The result of recording a decision or a late result. `known`: a decision or result was already recorded for this call, and only the first
 * one is used.
 */
export type Recorded = 'recorded' | 'known'

/** The functions of an agent about turns that wait. */
export interface WaitingTurns {
  /**
   * Records what a person decided about a call that waits for an approval. `callId` is the id of the call or of its wait. If the turn waits
   * for a larger budget, `callId` is the id of this wait, and an approval needs `params` with the amount to add to the budget: `{ tokens
   * }`, `{ money }` or both. Only the first decision is used, whichever process records it. This process then resumes the turn, unless
   * another process is running the conversation. Throws `call.missing` when there is no such call, `call.settled` when it does not wait for
   * an approval any more, and `call.expired` when the time for the approval is over.
   */
  decide(conversationId: string, callId: string, decision: Decision): Promise<Recorded>
  /**
   * Delivers the result of a call whose tool returned `later(…)`. `callId` is the id of the call or of its wait. The result is accepted for
   * every call without a result, even while the tool runs. If the turn has continued without the result, the model gets the result as an
   * event. Throws `call.missing` when there is no such call, `call.settled` when the call already has a final result, and `call.refused`
   * when there is a `token` and it does not belong to this call.
   */
  complete(conversationId: string, callId: string, outcome: Completion, options?: CompleteOptions): Promise<Recorded>
  /**
   * The tools of unfinished calls that this agent does not have. If such a call was approved, its turn is not resumed, because another
   * agent with the same store may have the tool. Empty when no turn is open. Throws `conversation.missing` when there is no such
   * conversation.
   */
  missingTools(conversationId: string): Promise<readonly string[]>
  /** What the turns of all conversations wait for, page by page. The conversations with the latest activity come first. */
  waiting(query?: WaitingQuery): Promise<WaitingPage>
}

interface WaitingParts {
  readonly store: ConversationStore
  readonly clock: Pick<Clock, 'now'>
  readonly conversations: Pick<RunningConversations, 'deliver' | 'start'>
  /** The tools of the agent. */
  toolbox(): Pick<Toolbox, 'find' | 'has' | 'mayHave'>
  onProblem(problem: Problem): void
}

export function createWaitingTurns({ store, clock, conversations, toolbox, onProblem }: WaitingParts) {
  /**
   * Offers the event to the owner of the conversation. If no process runs the conversation, this process resumes the turn. For the
   * conversation of a sub-agent, it resumes the turn of the outermost calling conversation, because only the agent of that conversation
   * knows the sub-agent.
   */
  async function record(conversationId: string, event: OfferedEvent): Promise<Recorded> {
    const answer = await store.offer(conversationId, event)
    const top = isChildKey(conversationId) ? await wakeCallers(store, conversationId, clock.now()) : conversationId
    if (top === conversationId ? !isChildKey(top) : await knowsSubAgents(top)) {
      resume(top).catch((error: unknown) => {
        if (!isBusy(error) && !isLost(error)) onProblem({ where: 'turn', error })
      })
    }
    return answer === 'known' ? 'known' : 'recorded'
  }

  async function resume(conversationId: string): Promise<void> {
    const running = await conversations.start(conversationId, { kind: 'unfinished' })
    await running?.firstResult
  }

  /** Whether this agent has the tools whose calls wait for sub-agents. If not, the conversation belongs to another agent. */
  async function knowsSubAgents(conversationId: string): Promise<boolean> {
    const { waits } = await headOf(store, conversationId)
    const calls = waits.flatMap(({ kind, call_id }) => (kind === 'child' && call_id !== undefined ? [call_id] : []))
    const blocks = (await Promise.all(calls.map((callId) => store.findByCall(conversationId, callId)))).flat()
    const called = blocks.flatMap((block) => (block.type === 'react.tool.call' ? [readToolCall(block)?.tool_id ?? ''] : []))
    return called.length > 0 && called.every(toolbox().has)
  }

  /** Whether an event with this id was recorded before. */
  async function isRecorded(conversationId: string, eventId: string): Promise<boolean> {
    if (await store.findOffer(conversationId, eventId)) return true
    const saved = await store.loadVisible(conversationId)
    return saved !== undefined && isKnownEvent(saved.timeline, eventId)
  }

  /** The id of a call. `id` is the id of the call itself, or the id of its wait, which ends with the id of the call. */
  async function callIdOf(conversationId: string, id: string): Promise<string> {
    const callId = callIdInWaitId(id)
    return callId === undefined || (await store.findByCall(conversationId, id)).length > 0 ? id : callId
  }

  async function callOf(conversationId: string, callId: string): Promise<readonly Block[]> {
    const blocks = await store.findByCall(conversationId, callId)
    if (blocks.some(({ type }) => type === 'react.tool.call')) return blocks
    throw new Failure('call.missing', `there is no call ${callId} in this conversation`)
  }

  /**
   * Whether a token with this hash belongs to a call without a final result. If the call has an interim result, it does not wait any more,
   * and the hash is only in the journal.
   */
  async function isTokenOf(conversationId: string, callId: string, hash: string, waits: readonly Wait[]): Promise<boolean> {
    const current = waits.find(({ call_id }) => call_id === callId)?.token_sha256
    if (current !== undefined) return current === hash
    const blocks = await store.findByCall(conversationId, callId)
    if (blocks.length === 0 || hasFinalResult(blocks)) return false
    for await (const { change } of store.readJournal(conversationId, { after: 0 })) {
      if (change.type === 'turn.waiting' && change.waits.some((wait) => wait.call_id === callId && wait.token_sha256 === hash)) return true
    }
    return false
  }

  /**
   * Delivers a steer or a stop to a turn that runs or waits. The steer or stop ends all waits of the turn. Returns false when no turn runs
   * or waits.
   */
  async function deliverSteer(conversationId: string, event: OfferedEvent): Promise<'accepted' | 'known' | false> {
    const delivered = await conversations.deliver(conversationId, event)
    if (delivered !== false) return delivered
    const head = await store.head(conversationId)
    if (!head || head.waits.length === 0 || head.openTurn === null) return false
    if (event.target_turn_id !== undefined && event.target_turn_id !== head.openTurn) return false
    return (await record(conversationId, { ...event, target_turn_id: head.openTurn })) === 'known' ? 'known' : 'accepted'
  }

  const turns: WaitingTurns = {
    async decide(conversationId, id, decision) {
      const { approved, note = '', params, by } = checkDecision(decision)
      const ts = clock.now()
      const { waits } = await headOf(store, conversationId)
      const decidable = waits.filter(({ kind }) => decidableKinds.has(kind))
      const wait = decidable.find((each) => replyKey(each) === id) ?? decidable.find(({ wait_id }) => wait_id === id)
      const callId = (wait && replyKey(wait)) ?? (await callIdOf(conversationId, id))
      if (!wait) {
        if (!isBudgetWait(callId)) await callOf(conversationId, callId)
        if (await isRecorded(conversationId, decisionId(callId))) return 'known'
        throw new Failure('call.settled', `call ${callId} does not wait for an approval: it has a result, or was withdrawn`)
      }
      if (isExpired(wait, ts)) throw new Failure('call.expired', `the time to approve call ${callId} ended at ${wait.expires_at}`)
      const isQuestion = wait.kind === 'elicitation'
      if (wait.kind === 'budget' && approved) checkExtra(params)
      if (isQuestion && approved) checkReply(wait.schema, params ?? {})
      const payload = { call_id: callId, approved, ...(params !== undefined && { params }), ...(by !== undefined && { by }) }
      const event_id = isQuestion ? answerId(wait) : decisionId(callId)
      return record(conversationId, { event_id, kind: 'decision', ts, text: note, payload })
    },

    async complete(conversationId, id, outcome, options = {}) {
      const { token } = checkCompleteOptions(options)
      const { waits } = await headOf(store, conversationId)
      const callId = await callIdOf(conversationId, id)
      if (token !== undefined && !(await isTokenOf(conversationId, callId, hashToken(token), waits)))
        throw new Failure('call.refused', 'the token does not belong to this call')
      const blocks = await callOf(conversationId, callId)
      const event: OfferedEvent = {
        event_id: completionId(callId),
        kind: 'completion',
        ts: clock.now(),
        text: '',
        payload: { call_id: callId, outcome: storedCompletion(checkCompletion(outcome)) },
      }
      if (!hasFinalResult(blocks)) return record(conversationId, event)
      if (await isRecorded(conversationId, event.event_id)) return 'known'
      throw new Failure('call.settled', `call ${callId} has a result already`)
    },

    async missingTools(conversationId) {
      await headOf(store, conversationId)
      const saved = await store.loadVisible(conversationId)
      return saved ? missingToolsIn(saved.timeline, toolbox()) : []
    },

    waiting: (query = {}) => waitingList(store)(checkQuery(query)),
  }
  return { ...turns, deliverSteer }
}

/** The kinds of waits that a decision ends. */
const decidableKinds: ReadonlySet<Wait['kind']> = new Set(['approval', 'elicitation', 'budget'])

/** Whether a call has its final result. False if it has only an interim result, because the final result will still arrive. */
function hasFinalResult(blocks: readonly Block[]): boolean {
  const results = blocks.filter(({ type }) => type === 'react.tool.result')
  return results.length > 0 && !results.some(({ text: json }) => isPending(parseJson(json)))
}

const isPending = (result: unknown): boolean => isObject(result) && result.status === 'pending'

const storedCompletion = (outcome: Completion): StoredOutcome =>
  outcome.ok ? { ok: true, ...(outcome.output !== undefined && { output: outcome.output }) } : { ok: false, error: { ...outcome.error } }

const checkCompleteOptions = check<CompleteOptions>('complete', { token: optional(text) })
const checkDecision = check<Decision>(
  'decide',
  {
    approved: flag,
    note: optional(text),
    params: optional(expects('an object with parameters', (value) => isObject(value) && !Array.isArray(value))),
    by: optional(text),
  },
  'an object with `approved`',
)
const failure = group('an error with `code` and `message`', { code: filledText, message: text }, 'other names allowed')
const checkCompletion = check<{ readonly ok: boolean; readonly output?: unknown; readonly error?: unknown }>(
  'complete',
  { ok: flag, output: optional(() => undefined), error: optional(failure) },
  'an object with `ok`, and with `output` or `error`',
) as (outcome: Completion) => Completion
const checkQuery = check<WaitingQuery>('waiting', {
  conversationId: optional(text),
  prefix: optional(text),
  plain: optional(flag),
  limit: optional(numberFrom(1)),
  cursor: optional(text),
})
