import type { AnnouncedFeedback } from '../../core/announce/announce.ts'
import { type Block, type BlockOrigin, readNotice, readToolCall } from '../../core/block/index.ts'
import { afterAcceptedRound, afterRejectedResponse, afterToolRefusal, remainingRounds, spendRound } from '../../core/budget.ts'
import { checkCall } from '../../core/decision/check-call.ts'
import { parseResponse } from '../../core/decision/decision.ts'
import { isPlainTextViolation } from '../../core/decision/early-check.ts'
import { readDecision } from '../../core/decision/read.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { Change, ResponseReceived } from '../../core/timeline/change.ts'
import { blockAt, blocksOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { failed } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/tool.ts'
import type { TurnServices } from '../agent-context.ts'
import type { TurnEntries } from '../conversation/history.ts'
import { readJournaledResponse, shownAnswerOf } from '../model-call/journaled-response.ts'
import type { AgentSettings } from '../settings.ts'
import { isSecondActionOutcome, withAttempt } from '../turn/closing.ts'
import { applyEvent } from '../turn/incoming-events.ts'
import { withUnfinished } from '../turn/interruption.ts'
import { handleLastResponse, handleResponse, nextRound, openProgress, type Progress, type RoundResult } from '../turn/round.ts'
import { startWithTitle } from '../turn/title.ts'
import { commitResult, runToolCall } from '../turn/tool-call.ts'
import type { Turn } from '../turn/turn.ts'

/**
 * Continues a turn whose process died. What it does depends on the last entries of the turn:
 *
 *   no response                    start the first round
 *   a response without its blocks  read the response again and act on it
 *   a call and its result          start the next round
 *   a call without its result      run the tool again if it is repeatable. If not, tell the model that the outcome is unknown. If the
 *                                  process has died too often during this call, tell the model that the call was given up
 *
 * The model is not called again for a response that is in the journal.
 */
export async function resumeTurn(turn: Turn, feedbacks: readonly AnnouncedFeedback[]): Promise<RoundResult> {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const entries = await conversation.entriesOfTurn(turnId)
  const opened = openProgress(timeline.openTurn?.ts ?? agent.clock.now(), agent.settings, feedbacks)
  const progress = restoreProgress(opened, turnId, entries, agent.settings, (response) => shownAnswerOf(turn, response))
  const pending = callWithoutResult(timeline, turnId)
  if (pending) return { kind: 'next', progress: await finishPendingCall(turn, progress, pending, entries.changes) }
  const response = responseWithoutBlocks(turnId, entries.changes)
  if (response) return handleJournaledResponse(turn, progress, response)
  return needsTitle(timeline, turnId, entries.changes) ? startWithTitle(turn, progress) : { kind: 'next', progress }
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

/** Whether the title must still be requested. True if this is the first turn of the conversation and the journal has no response yet. */
function needsTitle(timeline: Timeline, turnId: string, changes: readonly Change[]): boolean {
  return blocksOfTurn(timeline, turnId).length === timeline.size && !changes.some(({ type }) => type === 'response.received')
}

function callWithoutResult(timeline: Timeline, turnId: string): Block | undefined {
  const blocks = blocksOfTurn(timeline, turnId)
  const call = blocks.findLast(({ type }) => type === 'react.tool.call')
  const answered = blocks.some(({ type, call_id }) => type === 'react.tool.result' && call_id === call?.call_id)
  return answered ? undefined : call
}

async function finishPendingCall(turn: Turn, progress: Progress, block: Block, changes: readonly Change[]): Promise<Progress> {
  const { turnId, agent, conversation } = turn
  const toolId = readToolCall(block)?.tool_id ?? block.tool_id ?? 'unknown'
  const origin: BlockOrigin = { turnId, callId: block.call_id ?? '', iteration: progress.iteration - 1, ts: block.ts }
  const tool = agent.toolbox.find(toolId)
  // A steer or the time limit would abort the tool before it starts. The result would then not tell the model that the tool may have run
  // before.
  const mayRepeat = tool?.repeatable && !conversation.inbox.hasSteer && !conversation.inbox.timeUp
  const recorded = mayRepeat ? parseRecordedCall(agent, changes, origin.callId) : undefined
  if (!tool || !recorded) return commitResult(turn, progress, origin, toolId, unknownOutcome(toolId))
  const attempts = 1 + changes.filter((change) => change.type === 'call.repeated' && change.call_id === origin.callId).length
  if (attempts >= agent.settings.maxCallAttempts) return commitResult(turn, progress, origin, toolId, gaveUp(toolId, attempts))
  await conversation.ledger.commit([{ type: 'call.repeated', turn_id: turnId, call_id: origin.callId, ts: agent.clock.now() }])
  return runToolCall(turn, progress, origin, { tool, ...recorded }, timelineAtDecision(conversation.ledger.timeline, origin))
}

/** The timeline that the model saw when it made the call. It has no blocks of that round. */
function timelineAtDecision(timeline: Timeline, { turnId, iteration }: BlockOrigin): Timeline {
  let { size } = timeline
  for (; size > 0; size--) {
    const block = blockAt(timeline, size - 1)
    if (block?.turn_id !== turnId || block.meta?.iteration !== iteration) break
  }
  return { ...timeline, size }
}

/** Reads the call from the journaled response, because the parameters in the block of the call are shortened. */
function parseRecordedCall({ settings, toolbox }: TurnServices, changes: readonly Change[], callId: string) {
  const isResponse = (change: Change): change is ResponseReceived => change.type === 'response.received' && change.call_id === callId
  const response = changes.find(isResponse)
  if (!response) return undefined
  const { raw, finish_reason } = response
  const finishReason = finish_reason === 'length' ? 'length' : 'stop'
  const reading = readDecision(parseResponse(raw, { finishReason, maxTokens: settings.decision.maxTokens }), {})
  if (!reading.ok || reading.decision.action !== 'call_tool') return undefined
  const checked = checkCall(reading.decision, toolbox.signatures)
  return checked.ok ? { params: checked.params, decision: reading.decision } : undefined
}

/**
 * Computes the progress of a turn from its entries. Each entry changes the progress in the same way as the round that committed it:
 *
 *   response.received                 one round of the budget is used. If the response was interrupted, the shown part of its answer is kept
 *   blocks with a call                one round of a wrap-up is used
 *   blocks with a result              the count of repairs is reset. If the tool refused the call, the refusal is counted instead
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
  let toolId = ''
  changes.forEach((change, index) => {
    if (change.type === 'response.received' && change.role === undefined) progress = afterResponse(progress, change, shownAnswer)
    else if (change.type === 'event.folded' && change.turn_id === turnId && !opensTurn(changes[index - 1])) {
      for (const id of change.event_ids) {
        const event = events.get(id)
        if (event) progress = applyEvent(progress, event, settings)
      }
    } else if (change.type === 'blocks.hidden' && change.reason === 'hide') progress = { ...progress, hasHidden: true }
    else if (change.type === 'blocks.appended') {
      toolId = change.blocks.find(({ type }) => type === 'react.tool.call')?.tool_id ?? toolId
      progress = afterBlocks(progress, change.blocks, toolId)
    }
  })
  return progress
}

/** The progress after a response. The last call after a reached limit, whose response has `wrap_up`, uses no round of the budget. */
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

function afterBlocks(before: Progress, blocks: readonly Block[], toolId: string): Progress {
  const attempt = blocks.find(({ type }) => type === 'assistant.completion.attempt')
  if (attempt) {
    const { text = '', meta } = attempt
    const answer = { text, iteration: meta?.iteration ?? before.iteration - 1, truncated: meta?.truncated === true }
    const after = withAttempt(before, answer)
    return blocks.some(isSecondActionOutcome) ? afterRejection(after, blocks) : { ...after, repairs: afterAcceptedRound(before.repairs) }
  }
  if (blocks.some(({ type }) => type === 'react.tool.call')) return spendWrapUpRound(before)
  const result = blocks.findLast(({ type }) => type === 'react.tool.result')
  const rounds = remainingRounds(before.budget)
  if (result) {
    const code = violationIn(result)
    return {
      ...before,
      repairs: code === undefined ? afterAcceptedRound(before.repairs) : afterToolRefusal(before.repairs, { code, toolId }, rounds).repairs,
    }
  }
  const rejected = blocks.some((block) => readNotice(block) !== undefined && block.meta?.rel === 'call')
  return rejected ? afterRejection(before, blocks) : before
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

/** The outcome of a call that was running when the process died, for a tool that must not run twice. */
const unknownOutcome = (toolId: string): Outcome =>
  failed(
    'outcome_unknown',
    `The process stopped while ${toolId} was running. Whether it had its effect is not known; it was not run again.`,
    {
      notices: [
        {
          code: 'tool_call_error.outcome_unknown',
          message: `${toolId} was interrupted by a restart and may or may not have had its effect. Find out before you call it again.`,
        },
      ],
    },
  )

/** The outcome of a repeatable call during which the process died `attempts` times. The tool or its result may be the reason. */
const gaveUp = (toolId: string, attempts: number): Outcome =>
  failed('gave_up', `The process stopped ${attempts} times while ${toolId} was running. It was not run again.`, {
    notices: [
      {
        code: 'tool_call_error.gave_up',
        message: `${toolId} was started ${attempts} times, and each time the process stopped before it returned. Do not make this call again; ask for less, or use another way.`,
      },
    ],
  })
