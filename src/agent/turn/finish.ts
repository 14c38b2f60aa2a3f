import { type BlockOrigin, type Draft, type Notice, noticeBlock } from '../../core/block/index.ts'
import { afterAcceptedRound } from '../../core/budget.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import { type FallbackReason, fallbackAnswer } from '../../core/decision/fallback-answer.ts'
import { isSameAnswer } from '../../core/decision/same-answer.ts'
import type { Change } from '../../core/timeline/change.ts'
import { assignIds, type Timeline } from '../../core/timeline/timeline.ts'
import { emitAnswer } from '../model-call/live-output.ts'
import { enterResponse, type ModelCall, responseChanges, thinkingDrafts } from '../model-call/model-call.ts'
import { mayHaveFiles, nothingPublished, publishWorkspace } from '../workspace/publish.ts'
import { attemptDrafts, closingChanges, completionDrafts, noticeDrafts, withAttempt } from './closing.ts'
import { commitEnd, hasUnansweredEvents } from './incoming-events.ts'
import type { Progress } from './progress.ts'
import { cancelledResult, type ExitReason, okReasons, type TurnResult, turnResult } from './result.ts'
import { takeTitle, waitForTitle } from './title.ts'
import type { Turn } from './turn.ts'

/** How a turn ends without an answer of the model. `fallback` selects the fixed text that is the answer. */
export interface ForcedEnd {
  readonly exitReason: ExitReason
  readonly fallback: FallbackReason
  readonly violationCode?: string
  readonly error?: Error
  /** The last response of the model, if the turn ends because of this response. */
  readonly last?: { readonly origin: BlockOrigin; readonly call: ModelCall }
  /** Blocks about the last response. They are committed before the answer. */
  readonly drafts?: readonly Draft[]
}

/** The answer with which the model ends the turn. */
export interface ModelAnswer {
  readonly origin: BlockOrigin
  readonly call: ModelCall
  readonly decision: FinalDecision
  readonly warnings: readonly Notice[]
  readonly exitReason: ExitReason
  /**
   * Whether the answer is deferred if an event has arrived that the model has not seen. False when the answer ends the turn in any case.
   */
  readonly deferrable: boolean
}

/** How the last round ends the turn. A cancelled turn stays open, and another process resumes it. */
export type TurnEnd =
  | { readonly kind: 'answer'; readonly answer: ModelAnswer }
  | { readonly kind: 'forced'; readonly end: ForcedEnd }
  | { readonly kind: 'cancelled' }

/** The result of a closed turn. If the answer was deferred, the progress with which the turn continues. */
export type FinishResult = { readonly kind: 'closed'; readonly result: TurnResult } | { readonly kind: 'next'; readonly progress: Progress }

/**
 * Ends the turn. One commit contains the answer, the used sources and `turn.closed`, so that a turn is never half closed. Usually this
 * commit also contains the last response. If a slow step comes first, the response is committed before this step. Slow steps are the exit
 * grace, the wait for a title, hooks and the publish. If the process dies during such a step, the process that resumes the turn need not
 * call the model again.
 */
export async function finishTurn(turn: Turn, progress: Progress, end: TurnEnd): Promise<FinishResult> {
  switch (end.kind) {
    case 'answer':
      return finishWithAnswer(turn, progress, end.answer)
    case 'forced':
      return { kind: 'closed', result: await finishWithFallback(turn, progress, end.end) }
    case 'cancelled':
      await waitForTitle(turn, progress) // returns at once if the agent is closed
      return { kind: 'closed', result: cancelledResult(turn) }
    default:
      return end satisfies never
  }
}

/**
 * Ends the turn with the model's answer. If an event has arrived that the model has not seen, the answer is deferred. It is then stored as
 * an attempt, and the turn continues. The check for events is part of the commit, so no event can arrive between the check and the commit.
 */
async function finishWithAnswer(turn: Turn, progress: Progress, answer: ModelAnswer): Promise<FinishResult> {
  const { turnId, agent, conversation } = turn
  const { ledger, inbox, renderers } = conversation
  const { origin, decision, warnings } = answer
  const previous = progress.attempts.at(-1)?.text
  if (decision.answer !== previous) emitIfNotStreamed(turn, origin, answer.call, decision.answer)
  const repeated = previous !== undefined && isSameAnswer(previous, decision.answer)
  const attempts = repeated ? progress.attempts.slice(0, -1) : progress.attempts
  // the model repeats its answer although it has seen the event, so the answer is not deferred again
  const deferrable = answer.deferrable && !repeated
  const hasEvents = () => inbox.hasSteer() || hasUnansweredEvents(ledger.timeline, turnId)
  const waits = deferrable && !hasEvents() && agent.settings.exitGraceMs > 0
  // If the answer is going to be deferred, no hook is called and no file is published.
  const isFinal = () => !(deferrable && hasUnansweredEvents(ledger.timeline, turnId))
  const lacksTitle = () => progress.title !== undefined && progress.title.drafts('with response') === undefined && isFinal()
  const call = waits || (isFinal() && isEndSlow(turn)) || lacksTitle() ? await enterResponse(turn, origin, answer.call) : answer.call
  // an event may have arrived while the response was committed
  if (waits && !hasEvents()) await inbox.waitForEvents(agent.settings.exitGraceMs)
  if (lacksTitle()) await waitForTitle(turn, progress)
  const before = isFinal() ? await agent.hooks.onBeforeCompletion() : []
  const after = isFinal() ? await agent.hooks.onAfterCompletion() : []
  const published = isFinal() ? await publishWorkspace(turn) : nothingPublished
  const exitReason = published.error ? 'error' : exitReasonOf(turn, answer.exitReason, { origin, call })
  let deferred = false
  const { titleBlocks, untitled } = takeTitle(progress)

  const answerChanges = (timeline: Timeline): readonly Change[] => {
    deferred = deferrable && hasUnansweredEvents(timeline, turnId)
    const common = [...titleBlocks, ...thinkingDrafts(origin, call.response), ...noticeDrafts(origin, timeline, decision, warnings)]
    const completion = () => completionDrafts({ ...origin, ts: agent.clock.now() }, timeline, attempts, decision)
    const drafts = deferred
      ? [
          ...common,
          ...attemptDrafts(origin, timeline, decision, progress, 'new_event'),
          ...(published.notice ? [noticeBlock(origin, published.notice)] : []),
        ]
      : [...common, ...before, ...completion(), ...after, ...published.drafts]
    const close = () => closingChanges({ turnId, ts: agent.clock.now() }, timeline, decision.answer, exitReason, renderers.meter)
    return [
      ...responseChanges(origin, call),
      { type: 'blocks.appended', blocks: assignIds(timeline, drafts) },
      ...(deferred ? [] : close()),
    ]
  }
  await (deferrable ? ledger.commit(answerChanges) : commitEnd(turn, progress, answerChanges))
  if (!deferred) return { kind: 'closed', result: turnResult(turn, progress, decision, exitReason, published.error) }
  const attempt = { text: decision.answer, iteration: origin.iteration, truncated: decision.truncated }
  return {
    kind: 'next',
    progress: { ...withAttempt(untitled, attempt), repairs: afterAcceptedRound(progress.repairs) },
  }
}

/** Whether hooks or a publish delay the commit that ends the turn. */
const isEndSlow = (turn: Turn): boolean => turn.agent.hooksDelayCompletion || mayHaveFiles(turn)

/**
 * Emits the answer if users have not seen it while the model wrote it. If no client watches now, the answer is emitted when a client joins.
 * When the answer is in the journal, it is not emitted any more.
 */
function emitIfNotStreamed(turn: Turn, { iteration }: BlockOrigin, { response, attempt }: ModelCall, answer: string): void {
  const { live } = turn.conversation
  let emitted = false
  const emit = () => {
    if (emitted) return
    emitted = true
    if (!response.liveOutput().answer()) emitAnswer(turn, iteration, answer, attempt)
  }
  if (live.hasWatchers()) emit()
  else live.onJoin(emit)
}

/**
 * Ends a turn without a new answer of the model. If the user stopped the turn while the model was writing an answer, the part that users
 * saw is the answer. If not, the answer is the last complete answer of this turn that users saw, or else a fixed text. If users also saw an
 * unfinished answer, it is stored before this answer.
 */
export async function finishWithFallback(turn: Turn, progress: Progress, end: ForcedEnd): Promise<TurnResult> {
  const { turnId, agent, conversation } = turn
  const { ledger, renderers } = conversation
  const { unfinished } = progress
  const stopped = end.fallback === 'stopped' && unfinished?.iteration === progress.iteration - 1 ? unfinished : undefined
  const answer = stopped?.text ?? fallbackAnswer(end.fallback, ledger.timeline, turnId, end.violationCode)
  const iteration = stopped?.iteration ?? progress.iteration
  const decision: FinalDecision = { action: 'exit', answer, followups: [], truncated: false, ...(stopped && { stopped: true }) }
  const repeated = progress.attempts.at(-1)?.text === answer
  const earlier = repeated ? progress.attempts.slice(0, -1) : progress.attempts
  const attempts = unfinished && !stopped ? [...earlier, unfinished] : earlier
  if (!repeated && !stopped) emitAnswer(turn, iteration, answer)
  const last = end.last && isEndSlow(turn) ? { ...end.last, call: await enterResponse(turn, end.last.origin, end.last.call) } : end.last
  const [before, after] = [await agent.hooks.onBeforeCompletion(), await agent.hooks.onAfterCompletion()]
  const published = await publishWorkspace(turn)
  const exitReason = published.error ? 'error' : exitReasonOf(turn, end.exitReason, last)
  const { titleBlocks } = takeTitle(progress)
  await commitEnd(turn, progress, (timeline) => {
    const completion = completionDrafts({ turnId, iteration, ts: agent.clock.now() }, timeline, attempts, decision)
    const drafts = [...titleBlocks, ...(end.drafts ?? []), ...before, ...completion, ...after, ...published.drafts]
    return [
      ...(last ? responseChanges(last.origin, last.call) : []),
      { type: 'blocks.appended', blocks: assignIds(timeline, drafts) },
      ...closingChanges({ turnId, ts: agent.clock.now() }, timeline, answer, exitReason, renderers.meter),
    ]
  })
  return turnResult(turn, progress, decision, exitReason, end.error ?? published.error)
}

/**
 * Why the turn ends. If the turn has a cost limit and the price of one of its calls is not known, the reason is `unpriced`. The cost of the
 * turn can then not be compared with the limit. `last` is the last response, which may not be journaled yet.
 */
function exitReasonOf({ turnId, agent, conversation: { spending } }: Turn, reason: ExitReason, last: ForcedEnd['last']): ExitReason {
  if (agent.settings.maxMoney === undefined || !okReasons.has(reason)) return reason
  return spending.isUnpriced(turnId, last ? responseChanges(last.origin, last.call) : []) ? 'unpriced' : reason
}
