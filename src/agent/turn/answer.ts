import { type BlockOrigin, type Draft, type Notice, noticeBlock } from '../../core/block/index.ts'
import { extractSids } from '../../core/citations/sids.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import { afterAcceptedRound } from '../../core/decision/limits.ts'
import { isSameAnswer } from '../../core/decision/same-answer.ts'
import { warning } from '../../core/decision/violations.ts'
import { attemptOutcomePath, attemptPath } from '../../core/path/build.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { assignIds } from '../../core/timeline/timeline.ts'
import type { ModelCall } from '../model-call/call-model.ts'
import { emitAnswer } from '../model-call/live-output.ts'
import { responseReceived, thinkingDrafts } from '../model-call/response.ts'
import { citedSources, closingChanges, completionDrafts, type ExitReason, turnResult } from './finish.ts'
import { commitEnd, hasUnansweredEvents } from './incoming-events.ts'
import type { Progress } from './progress.ts'
import type { Step } from './round.ts'
import type { Turn } from './turn.ts'
import { nothingPublished, publishWorkspace } from './workspace.ts'

/** How a turn will have ended. An answer that ends it in any case is not held back for what came in meanwhile. */
export interface AnswerExit {
  readonly reason: ExitReason
  readonly deferrable: boolean
}

/**
 * The model has answered. If something came in that it has not seen, the answer is kept as an attempt and the turn goes on;
 * otherwise answer and close are one entry. Which of the two is decided inside the commit: nothing can slip in between.
 */
export async function handleAnswer(
  turn: Turn,
  progress: Progress,
  place: BlockOrigin,
  asked: ModelCall,
  decision: FinalDecision,
  warnings: readonly Notice[],
  exit: AnswerExit = { reason: progress.wrapUp ? 'steer' : decision.action, deferrable: true },
): Promise<Step> {
  const previous = progress.attempts.at(-1)?.text
  if (decision.answer !== previous) emitIfNotStreamed(turn, place, asked, decision.answer)
  const repeated = previous !== undefined && isSameAnswer(previous, decision.answer)
  const attempts = repeated ? progress.attempts.slice(0, -1) : progress.attempts
  const deferrable = exit.deferrable && !repeated // a model that only repeats itself is believed at once
  const heardOf = turn.inbox.hasSteer || hasUnansweredEvents(turn.ledger.timeline, turn.turnId) // a stop may be there already: it is not waited for
  if (deferrable && !heardOf) await turn.inbox.waitForEvents(turn.settings.exitGraceMs)
  const isLast = () => !(deferrable && hasUnansweredEvents(turn.ledger.timeline, turn.turnId)) // whoever adds to the last word is not asked for any other
  const before = isLast() ? await turn.hooks.onBeforeCompletion() : []
  const after = isLast() ? await turn.hooks.onAfterCompletion() : []
  const left = isLast() ? await publishWorkspace(turn) : nothingPublished
  const reason = left.error ? 'error' : exit.reason
  let deferred = false

  const enterAnswer = (timeline: Timeline): readonly Change[] => {
    deferred = deferrable && hasUnansweredEvents(timeline, turn.turnId)
    const said = [...thinkingDrafts(place, asked.response), ...noticesOf(place, timeline, decision, warnings)]
    const drafts = deferred
      ? [...said, ...attemptDrafts(place, timeline, decision, progress)]
      : [...said, ...before, ...completionDrafts(turn, timeline, attempts, decision, place.iteration), ...after, ...left.drafts]
    return [
      responseReceived(place, asked),
      { type: 'blocks.appended', blocks: assignIds(timeline, drafts) },
      ...(deferred ? [] : closingChanges(turn, timeline, decision, reason)),
    ]
  }
  await (deferrable ? turn.ledger.commit(enterAnswer) : commitEnd(turn, progress, enterAnswer))
  if (!deferred) return { result: turnResult(turn, decision, reason, left.error) }
  const attempt = { text: decision.answer, iteration: place.iteration, truncated: decision.truncated }
  return { progress: { ...progress, repairs: afterAcceptedRound(progress.repairs), attempts: [...progress.attempts, attempt] } }
}

/** Says what no lane has shown: to whoever watches now, and to whoever joins before it is entered. While nobody does, nothing is read for it. */
function emitIfNotStreamed(turn: Turn, { iteration }: BlockOrigin, { response: heard, attempt }: ModelCall, answer: string): void {
  let said = false
  const say = () => {
    if (said) return
    said = true
    if (!heard.answer()) emitAnswer(turn, iteration, answer, attempt)
  }
  if (turn.watchers.any()) say()
  else turn.watchers.onJoin(say)
}

function noticesOf(place: BlockOrigin, timeline: Timeline, { answer }: FinalDecision, warnings: readonly Notice[]): readonly Draft[] {
  const cited = extractSids(answer)
  const known = citedSources(answer, timeline)
  if (known.length === cited.length) return warnings.map((said) => noticeBlock(place, said))
  const sids = cited.filter((sid) => !known.includes(sid))
  const text = `The answer cites sources that do not exist: ${sids.join(', ')}. The citations were left out.`
  return [...warnings, warning('unknown_sources', text, { sids })].map((said) => noticeBlock(place, said))
}

function attemptDrafts(
  place: BlockOrigin,
  timeline: Timeline,
  { answer, truncated }: FinalDecision,
  { attempts }: Progress,
): readonly Draft[] {
  const { turnId, ts, iteration } = place
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
