import { type BlockOrigin, type Notice, noticeBlock } from '../../core/block/index.ts'
import { type Budget, budgetWrapUp, checkWrapUp } from '../../core/budget.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import type { FallbackReason } from '../../core/decision/fallback-answer.ts'
import type { ReachedLimit } from '../../core/timeline/change.ts'
import { callModel } from '../model-call/call-model.ts'
import { type ModelCall, readResponseDecision, thinkingDrafts } from '../model-call/model-call.ts'
import { serviceErrorNotice } from '../model-call/service-errors.ts'
import { waitForProvider } from '../waits/provider-wait.ts'
import { prepareContext } from './context-window.ts'
import { handleInterruption, leaveToNextProcess } from './interruption.ts'
import { answered, ended, nextOrigin, type Progress, type RoundResult } from './progress.ts'
import type { ExitReason } from './result.ts'
import type { Turn } from './turn.ts'

/**
 * Ends a turn that has reached a limit of rounds, time, money or tokens, or a budget. The model is called once more and may only answer. If
 * it gives no answer in time, the answer is a fixed text.
 */
export async function wrapUpTurn(turn: Turn, progress: Progress, limit: ReachedLimit): Promise<RoundResult> {
  const outOfTime = exhausted[limit]
  const { turnId, agent, conversation } = turn
  conversation.live.emit({ type: 'status', turn_id: turnId, iteration: progress.iteration, status: 'wrapping_up' })
  limitWrapUpTime(turn, progress.budget)
  await prepareContext(turn, progress, limit)
  if (conversation.inbox.hasSteer()) return { kind: 'next', progress }
  if (conversation.inbox.timeUp) return ended(progress, outOfTime)
  const origin = nextOrigin(turn, progress.iteration)
  const call = await callModel(turn, progress, origin, agent.settings.wrapUp, limit)
  if ('refused' in call) return ended(progress, outOfTime)
  const after = { ...progress, iteration: progress.iteration + 1 }
  if (call.interrupted) {
    const next = await handleInterruption(turn, after, origin, call)
    return next.kind === 'ended' || !conversation.inbox.timeUp || conversation.inbox.hasSteer() ? next : ended(next.progress, outOfTime)
  }
  if (conversation.signal.aborted) return leaveToNextProcess(turn, after, origin, call)
  return handleLastResponse(turn, after, origin, call, limit)
}

/** Ends the turn after the last model call, with its answer or with a fixed text, or lets it wait if the provider can not answer now. */
export async function handleLastResponse(
  turn: Turn,
  progress: Progress,
  origin: BlockOrigin,
  call: ModelCall,
  limit: ReachedLimit,
): Promise<RoundResult> {
  const { exitReason, fallback } = exhausted[limit]
  const { decision, kept, notices } = readResponseDecision(turn, progress, call.response, turn.agent.settings.wrapUp.maxTokens)
  const admission = checkWrapUp(budgetWrapUp, decision ?? kept)
  const checked = admission.verdict === 'answer' ? ((await turn.agent.output?.check(admission.decision)) ?? admission.decision) : undefined
  if (checked && 'answer' in checked) {
    return answered(progress, { origin, call, decision: checked as FinalDecision, warnings: notices, exitReason, deferrable: false })
  }
  const { error, thrown, raw } = call.response
  const mayWait = limit !== 'time' && raw === ''
  const waiting = error && mayWait ? await waitForProvider(turn, progress, error) : undefined
  if (waiting) return waiting
  // The result of the turn names the limit as its exit reason and does not contain this error.
  if (thrown !== undefined) turn.agent.onProblem({ where: 'model', error: thrown })
  const drafts = [
    ...thinkingDrafts(origin, call.response),
    ...(error ? [serviceErrorNotice(origin, error)] : []),
    ...(checked ? [noticeBlock(origin, checked as Notice)] : []),
  ]
  return ended(progress, { exitReason, fallback, last: { origin, call }, drafts })
}

/** Gives the wrap-up the time that the turn has left, but at least `wrapUpSeconds`. If the turn has no time limit, the wrap-up has none. */
function limitWrapUpTime(
  { agent: { clock, settings }, conversation: { inbox, ledger } }: Turn,
  { startedAt, maxMilliseconds }: Budget,
): void {
  if (maxMilliseconds === undefined) return
  const { waited_ms: waited = 0 } = ledger.timeline.openTurn ?? {}
  inbox.limitTime(Math.max(startedAt + maxMilliseconds + waited - Date.parse(clock.now()), settings.wrapUpSeconds * 1000))
}

const exhausted: { readonly [Limit in ReachedLimit]: { readonly exitReason: ExitReason; readonly fallback: FallbackReason } } = {
  rounds: { exitReason: 'max_iterations', fallback: 'max_rounds' },
  time: { exitReason: 'time', fallback: 'time' },
  money: { exitReason: 'budget', fallback: 'money' },
}
