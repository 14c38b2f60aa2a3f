import { type BlockOrigin, type Draft, type Notice, noticeBlock } from '../../core/block/index.ts'
import { extractSids } from '../../core/citations/sids.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import { afterAcceptedRound } from '../../core/decision/limits.ts'
import { isSameAnswer } from '../../core/decision/same-answer.ts'
import { warning } from '../../core/decision/violations.ts'
import { attemptOutcomePath, attemptPath } from '../../core/path/build.ts'
import type { Change } from '../../core/timeline/change.ts'
import { assignIds, type Timeline } from '../../core/timeline/timeline.ts'
import type { ModelCall } from '../model-call/call-model.ts'
import { emitAnswer } from '../model-call/live-output.ts'
import { responseReceived, thinkingDrafts } from '../model-call/response.ts'
import { citedSources, closingChanges, completionDrafts, type ExitReason, turnResult } from './finish.ts'
import { commitEnd, hasUnansweredEvents } from './incoming-events.ts'
import type { Progress } from './progress.ts'
import type { RoundResult } from './round.ts'
import type { Turn } from './turn.ts'
import { nothingPublished, publishWorkspace } from './workspace.ts'

/** How the answer ends the turn. One that is not deferrable ends it even when there are events that the model has not seen. */
interface AnswerExit {
  readonly reason: ExitReason
  readonly deferrable: boolean
}

/**
 * Ends the turn with the model's answer, or defers the answer: if an event came in that the model has not seen, the answer is kept as an
 * attempt and the turn goes on. That is decided inside the commit, so that no event can come in between.
 */
export async function handleAnswer(
  turn: Turn,
  progress: Progress,
  origin: BlockOrigin,
  call: ModelCall,
  decision: FinalDecision,
  warnings: readonly Notice[],
  exit: AnswerExit = { reason: progress.wrapUp ? 'steer' : decision.action, deferrable: true },
): Promise<RoundResult> {
  const previous = progress.attempts.at(-1)?.text
  if (decision.answer !== previous) emitIfNotStreamed(turn, origin, call, decision.answer)
  const repeated = previous !== undefined && isSameAnswer(previous, decision.answer)
  const attempts = repeated ? progress.attempts.slice(0, -1) : progress.attempts
  const deferrable = exit.deferrable && !repeated // the model has seen the event and repeats its answer: do not defer it again
  const hasEvents = turn.inbox.hasSteer || hasUnansweredEvents(turn.ledger.timeline, turn.turnId)
  if (deferrable && !hasEvents) await turn.inbox.waitForEvents(turn.settings.exitGraceMs)
  // Completion hooks run, and files are published, for the final answer only.
  const isFinal = () => !(deferrable && hasUnansweredEvents(turn.ledger.timeline, turn.turnId))
  const before = isFinal() ? await turn.hooks.onBeforeCompletion() : []
  const after = isFinal() ? await turn.hooks.onAfterCompletion() : []
  const published = isFinal() ? await publishWorkspace(turn) : nothingPublished
  const reason = published.error ? 'error' : exit.reason
  let deferred = false

  const answerChanges = (timeline: Timeline): readonly Change[] => {
    deferred = deferrable && hasUnansweredEvents(timeline, turn.turnId)
    const common = [...thinkingDrafts(origin, call.response), ...noticesOf(origin, timeline, decision, warnings)]
    const drafts = deferred
      ? [...common, ...attemptDrafts(origin, timeline, decision, progress)]
      : [...common, ...before, ...completionDrafts(turn, timeline, attempts, decision, origin.iteration), ...after, ...published.drafts]
    return [
      responseReceived(origin, call),
      { type: 'blocks.appended', blocks: assignIds(timeline, drafts) },
      ...(deferred ? [] : closingChanges(turn, timeline, decision, reason)),
    ]
  }
  await (deferrable ? turn.ledger.commit(answerChanges) : commitEnd(turn, progress, answerChanges))
  if (!deferred) return { result: turnResult(turn, decision, reason, published.error) }
  const attempt = { text: decision.answer, iteration: origin.iteration, truncated: decision.truncated }
  return { progress: { ...progress, repairs: afterAcceptedRound(progress.repairs), attempts: [...progress.attempts, attempt] } }
}

/** Emits the answer if the response did not stream it: now if there are watchers, else when one joins before the answer is journaled. */
function emitIfNotStreamed(turn: Turn, { iteration }: BlockOrigin, { response, attempt }: ModelCall, answer: string): void {
  let emitted = false
  const emit = () => {
    if (emitted) return
    emitted = true
    if (!response.answer()) emitAnswer(turn, iteration, answer, attempt)
  }
  if (turn.watchers.any()) emit()
  else turn.watchers.onJoin(emit)
}

function noticesOf(origin: BlockOrigin, timeline: Timeline, { answer }: FinalDecision, warnings: readonly Notice[]): readonly Draft[] {
  const cited = extractSids(answer)
  const known = citedSources(answer, timeline)
  if (known.length === cited.length) return warnings.map((notice) => noticeBlock(origin, notice))
  const sids = cited.filter((sid) => !known.includes(sid))
  const text = `The answer cites sources that do not exist: ${sids.join(', ')}. The citations were left out.`
  return [...warnings, warning('unknown_sources', text, { sids })].map((notice) => noticeBlock(origin, notice))
}

function attemptDrafts(
  origin: BlockOrigin,
  timeline: Timeline,
  { answer, truncated }: FinalDecision,
  { attempts }: Progress,
): readonly Draft[] {
  const { turnId, ts, iteration } = origin
  const number = attempts.length + 1
  const common = { author: 'assistant', turn_id: turnId, ts, mime: 'text/markdown' }
  return [
    {
      ...common,
      type: 'assistant.completion.attempt',
      path: attemptPath(turnId, number),
      text: answer,
      meta: {
        completion_attempt_index: number,
        provisional: true,
        sources_used: citedSources(answer, timeline),
        iteration,
        ...(truncated && { truncated }),
      },
    },
    {
      ...common,
      type: 'assistant.completion.attempt.outcome',
      author: 'system',
      path: attemptOutcomePath(turnId, number),
      text: 'Held back as the last word: something new came in while you were answering. The user has seen this answer. Take the new event into account, then answer.',
      meta: { completion_attempt_outcome: 'deferred', reason: 'new_event', iteration },
    },
  ]
}
