import type { AnnouncedFeedback } from '../../core/announce/announce.ts'
import { type Block, type BlockOrigin, readNotice } from '../../core/block/index.ts'
import {
  afterAcceptedRound,
  afterRejectedResponse,
  afterToolRefusal,
  type RepairCount,
  remainingRounds,
  spendRound,
} from '../../core/budget.ts'
import { isPlainTextViolation } from '../../core/decision/early-check.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { Change, ResponseReceived } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import type { TurnEntries } from '../conversation/history.ts'
import { readJournaledResponse, shownAnswerOf } from '../model-call/journaled-response.ts'
import type { AgentSettings } from '../settings.ts'
import { isSecondActionOutcome, withAttempt } from '../turn/closing.ts'
import { applyEvent } from '../turn/incoming-events.ts'
import { withUnfinished } from '../turn/interruption.ts'
import { endUnpriced, nextRound, openProgress, type Progress, type RoundResult } from '../turn/progress.ts'
import { handleResponse } from '../turn/round.ts'
import { repairsOfRound } from '../turn/several-calls.ts'
import { isFirstTurn, resumeTitle, startTitle } from '../turn/title.ts'
import type { Turn } from '../turn/turn.ts'
import { handleLastResponse } from '../turn/wrap-up.ts'
import { endBudgetWait } from '../waits/budget-wait.ts'
import { endProviderWait } from '../waits/provider-wait.ts'
import { goOnOrWait } from '../waits/waits.ts'
import { callsWithoutResult, settlePendingCalls } from './pending-calls.ts'

/**
 * Continues a turn whose process died. What it does depends on the last entries of the turn:
 *
 *   no response                    start the first round
 *   a response without its blocks  read the response again and act on it
 *   calls and all their results    start the next round
 *   calls without their results    settle each of these calls by itself, as `settlePendingCalls` describes
 *
 * The model is not called again for a response that is in the journal.
 */
export async function resumeTurn(turn: Turn, feedbacks: readonly AnnouncedFeedback[]): Promise<RoundResult> {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const entries = await conversation.entriesOfTurn(turnId)
  const opened = openProgress(timeline.openTurn?.ts ?? agent.clock.now(), agent.settings, feedbacks)
  const restored = restoreProgress(opened, turnId, entries, agent.settings, (response) => shownAnswerOf(turn, response))
  return resumeTitle(turn, await continueTurn(turn, restored, entries.changes), entries.changes)
}

async function continueTurn(turn: Turn, progress: Progress, changes: readonly Change[]): Promise<RoundResult> {
  const { timeline } = turn.conversation.ledger
  const pending = callsWithoutResult(timeline, turn.turnId)
  if (pending.length > 0) return goOnOrWait(turn, await settlePendingCalls(turn, progress, pending, changes))
  const waiting = timeline.openTurn?.waits && ((await endProviderWait(turn, progress)) ?? (await endBudgetWait(turn, progress)))
  if (waiting) return waiting
  const response = responseWithoutBlocks(turn.turnId, changes)
  if (response) return handleJournaledResponse(turn, progress, response)
  const isAtStart = isFirstTurn(timeline, turn.turnId) && !changes.some(({ type }) => type === 'response.received')
  const started = isAtStart ? startTitle(turn, progress) : progress
  return started ? { kind: 'next', progress: started } : endUnpriced(progress)
}

/**
 * The response of the last decision, if the journal has this response but not the blocks that are made of it. A process commits a response
 * alone if a slow step comes before the commit with the blocks, such as a hook or a publish.
 */
function responseWithoutBlocks(turnId: string, changes: readonly Change[]): ResponseReceived | undefined {
  const at = changes.findLastIndex(
    (change) => change.type === 'response.received' && change.role === undefined && change.turn_id === turnId,
  )
  const response = changes[at]
  if (response?.type !== 'response.received' || response.finish_reason === 'interrupted') return undefined
  const isOfRound = ({ turn_id, meta }: Block) => turn_id === turnId && meta?.iteration === response.iteration
  const hasBlocks = changes.slice(at + 1).some((change) => change.type === 'blocks.appended' && change.blocks.some(isOfRound))
  return hasBlocks ? undefined : response
}

/** Acts on a journaled response in the same way as the round that received it would have done. `progress` already counts this round. */
async function handleJournaledResponse(turn: Turn, progress: Progress, response: ResponseReceived): Promise<RoundResult> {
  const { call_id: callId, iteration, ts, wrap_up: limit } = response
  const origin: BlockOrigin = { turnId: turn.turnId, callId, iteration, ts }
  const call = await readJournaledResponse(turn, origin, response, progress.repairs.plainText === true)
  return limit ? handleLastResponse(turn, progress, origin, call, limit) : handleResponse(turn, progress, origin, call)
}

/**
 * Computes the progress of a turn from its entries. Each entry changes the progress in the same way as the round that committed it:
 *
 *   response.received                 one round of the budget is used. If the response was interrupted, the shown part of its answer is kept
 *   blocks with a call                one round of a wrap-up is used
 *   blocks with a result              the count of repairs is reset. If the tools refused all calls of the round, the first refusal is
 *                                     counted instead
 *   blocks with a notice and no call  a rejected response is counted, and one round of a wrap-up is used
 *   blocks with an attempt            an attempt is added. If another action followed the answer, a rejected response is counted too
 *   event.folded                      the events are applied again
 *
 * An attempt is an answer that the user has seen but that did not end the turn.
 */
export function restoreProgress(
  opened: Progress,
  turnId: string,
  { changes, events }: TurnEntries,
  settings: AgentSettings,
  shownAnswer: (interrupted: ResponseReceived) => string | undefined,
): Progress {
  let progress = opened
  let round: RoundCalls = { repairs: opened.repairs, toolIds: new Map(), results: 0 }
  changes.forEach((change, index) => {
    if (change.type === 'response.received' && change.role === undefined) progress = afterResponse(progress, change, shownAnswer)
    else if (change.type === 'event.folded' && change.turn_id === turnId && !opensTurn(changes[index - 1])) {
      for (const id of change.event_ids) {
        const event = events.get(id)
        if (event && !settlesCall(event, changes[index + 1])) progress = applyEvent(progress, event, settings)
      }
    } else if (change.type === 'blocks.hidden' && change.reason === 'hide') progress = { ...progress, hasHidden: true }
    else if (change.type === 'blocks.appended') {
      const calls = change.blocks.filter(({ type }) => type === 'react.tool.call')
      if (calls.length > 0) {
        const toolIds = new Map(calls.map(({ call_id, tool_id = '' }) => [call_id, tool_id]))
        round = { repairs: progress.repairs, toolIds, results: 0 }
      }
      progress = afterBlocks(progress, change.blocks, round)
    }
  })
  return progress
}

/** Whether the turn has used an event to settle a call that waited. The model has not read such an event as a message. */
const settlesCall = ({ kind }: InboxEvent, next: Change | undefined): boolean =>
  kind === 'decision' || (kind === 'completion' && (next?.type === 'turn.resumed' || next?.type === 'call.finished'))

/** The progress after a response. If the turn has reached a limit, its last response has `wrap_up` and uses no round of the budget. */
function afterResponse(
  before: Progress,
  response: ResponseReceived,
  shownAnswer: (interrupted: ResponseReceived) => string | undefined,
): Progress {
  const after = response.wrap_up === undefined ? nextRound(before) : { ...before, iteration: before.iteration + 1 }
  return response.finish_reason === 'interrupted' ? withUnfinished(after, shownAnswer(response), response.iteration) : after
}

/**
 * Whether a change opens a turn. The followup that is read right after this change is the message of the turn, not an event in the turn.
 */
const opensTurn = (change: Change | undefined) => change?.type === 'turn.opened'

/** The calls of a round, the count of repairs when the round made them, and how many of their results were read. */
interface RoundCalls {
  readonly repairs: RepairCount
  readonly toolIds: ReadonlyMap<string | undefined, string>
  results: number
}

function afterBlocks(before: Progress, blocks: readonly Block[], round: RoundCalls): Progress {
  const attempt = blocks.find(({ type }) => type === 'assistant.completion.attempt')
  if (attempt) {
    const { text = '', meta } = attempt
    const answer = { text, iteration: meta?.iteration ?? before.iteration - 1, truncated: meta?.truncated === true }
    const after = withAttempt(before, answer)
    return blocks.some(isSecondActionOutcome) ? afterRejection(after, blocks) : { ...after, repairs: afterAcceptedRound(before.repairs) }
  }
  if (blocks.some(({ type }) => type === 'react.tool.call')) return spendWrapUpRound(before)
  const result = blocks.findLast(({ type }) => type === 'react.tool.result')
  if (result) return { ...before, repairs: repairsAfterResult(before, result, round) }
  const rejected = blocks.some((block) => readNotice(block) !== undefined && block.meta?.rel === 'call')
  return rejected ? afterRejection(before, blocks) : before
}

function repairsAfterResult({ repairs, budget }: Progress, result: Block, round: RoundCalls): RepairCount {
  const code = violationIn(result)
  const toolId = round.toolIds.get(result.call_id) ?? ''
  const after =
    code === undefined
      ? afterAcceptedRound(round.repairs)
      : afterToolRefusal(round.repairs, { code, toolId }, remainingRounds(budget)).repairs
  return round.results++ === 0 ? after : repairsOfRound(repairs, after)
}

function afterRejection(before: Progress, blocks: readonly Block[]): Progress {
  const plainText = blocks.some((block) => isPlainTextViolation(readNotice(block) ?? noNotice))
  return { ...spendWrapUpRound(before), repairs: afterRejectedResponse(before.repairs, remainingRounds(before.budget), plainText).repairs }
}

const noNotice = { code: '', message: '' }

const spendWrapUpRound = (progress: Progress): Progress =>
  progress.wrapUp ? { ...progress, wrapUp: spendRound(progress.wrapUp) } : progress

function violationIn({ text }: Block): string | undefined {
  const payload = parseJson(text)
  const error = isObject(payload) && payload.ok === false && isObject(payload.error) ? payload.error : undefined
  return typeof error?.code === 'string' && error.code.startsWith('protocol_violation.') ? error.code : undefined
}
