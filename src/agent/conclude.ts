import { type Draft, type Notice, notice, type Place } from '../core/block/index.ts'
import { extractSids } from '../core/citations/sids.ts'
import type { FinalDecision } from '../core/decision/decision.ts'
import { isEquivalent } from '../core/decision/equivalent.ts'
import { accepted } from '../core/decision/repairs.ts'
import { warning } from '../core/decision/violation.ts'
import { attemptOutcomePath, attemptPath } from '../core/path/build.ts'
import { enter } from '../core/timeline/enter.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { Asked } from './ask.ts'
import { citedIn, closing, type ExitReason, lastDrafts, resultOf } from './finish.ts'
import { hasNews } from './fold.ts'
import type { Progress } from './progress.ts'
import { responseReceived, thoughts } from './response.ts'
import type { Step } from './round.ts'
import { sayAnswer } from './say.ts'
import type { Turn } from './turn.ts'

/**
 * The model has answered. If something came in that it has not seen, the answer is kept as an attempt and the turn goes on;
 * otherwise answer and close are one entry. Which of the two is decided inside the commit: nothing can slip in between.
 */
export async function conclude(
  turn: Turn,
  progress: Progress,
  place: Place,
  asked: Asked,
  decision: FinalDecision,
  warnings: readonly Notice[],
  exitReason: ExitReason = decision.action,
): Promise<Step> {
  if (!asked.heard.answer) sayAnswer(turn, place.iteration, decision.answer)
  if (!hasNews(turn.ledger.timeline)) await turn.inbox.pause(turn.settings.exitGraceMs)
  const before = await turn.hooks.onBeforeCompletion()
  const after = await turn.hooks.onAfterCompletion()
  const repeated = progress.attempts.at(-1) !== undefined && isEquivalent(progress.attempts.at(-1)?.text ?? '', decision.answer)
  const attempts = repeated ? progress.attempts.slice(0, -1) : progress.attempts
  let deferred = false

  await turn.ledger.commit((timeline) => {
    deferred = hasNews(timeline) && !repeated && exitReason === decision.action
    const said = [...thoughts(place, asked.heard), ...noticesOf(place, timeline, decision, warnings)]
    const drafts = deferred
      ? [...said, ...attempted(place, decision, progress)]
      : [...said, ...before, ...lastDrafts(turn, timeline, attempts, decision, place.iteration), ...after]
    return [
      responseReceived(place, asked),
      { type: 'blocks.appended', blocks: enter(timeline, drafts) },
      ...(deferred ? [] : closing(turn, timeline, decision, exitReason)),
    ]
  })
  if (!deferred) return { result: resultOf(turn, decision, exitReason) }
  const attempt = { text: decision.answer, iteration: place.iteration, truncated: decision.truncated }
  return { progress: { ...progress, repairs: accepted(progress.repairs), attempts: [...progress.attempts, attempt] } }
}

function noticesOf(place: Place, timeline: Timeline, decision: FinalDecision, warnings: readonly Notice[]): readonly Draft[] {
  const known = new Set(citedIn(decision.answer, timeline))
  const unknown = extractSids(decision.answer).filter((sid) => !known.has(sid))
  const missing =
    unknown.length === 0
      ? []
      : [
          warning('unknown_sources', `The answer cites sources that do not exist: ${unknown.join(', ')}. The citations were left out.`, {
            sids: unknown,
          }),
        ]
  return [...warnings, ...missing].map((said) => notice(place, said))
}

function attempted({ turnId, ts, iteration }: Place, decision: FinalDecision, { attempts }: Progress): readonly Draft[] {
  const number = attempts.length + 1
  const common = { author: 'assistant', turn_id: turnId, ts, mime: 'text/markdown' }
  return [
    {
      ...common,
      type: 'assistant.completion.attempt',
      path: attemptPath(turnId, number),
      text: decision.answer,
      meta: { completion_attempt_index: number, provisional: true, iteration, ...(decision.truncated && { truncated: true }) },
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
