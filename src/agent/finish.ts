import { assistantCompletion, type Draft, stage, suggestedFollowups } from '../core/block/index.ts'
import { extractSids } from '../core/citations/sids.ts'
import type { FinalDecision } from '../core/decision/decision.ts'
import { closingAnswer, type Ending } from '../core/decision/last-words.ts'
import type { Change } from '../core/timeline/change.ts'
import { blocksOfTurn, type Timeline } from '../core/timeline/timeline.ts'
import { tooLate } from './fold.ts'
import { append } from './ledger.ts'
import type { Attempt, Progress } from './progress.ts'
import { sayAnswer } from './say.ts'
import type { Turn } from './turn.ts'

export type ExitReason = 'complete' | 'exit' | 'max_iterations' | 'time' | 'budget' | 'protocol_violation' | 'steer' | 'error' | 'cancelled'

/** A turn that the model did not end itself. */
export interface Ended {
  readonly exitReason: ExitReason
  readonly ending: Ending
  readonly violationCode?: string
  readonly error?: Error
  /** Entered together with the end: the last response and what is said about it. */
  readonly changes?: readonly Change[]
  readonly drafts?: readonly Draft[]
}

/** What came of a turn. */
export interface TurnResult {
  readonly turnId: string
  readonly exitReason: ExitReason
  readonly ok: boolean
  readonly answer: string
  readonly followups: readonly string[]
  readonly sourcesUsed: readonly number[]
  readonly truncated: boolean
  readonly error?: Error
}

const good: ReadonlySet<ExitReason> = new Set(['complete', 'exit', 'max_iterations', 'time', 'budget', 'steer'])

/** Ends a turn with what it last said, else with fixed words: a turn never ends silent. */
export async function finish(turn: Turn, progress: Progress, ended: Ended): Promise<TurnResult> {
  const { timeline } = turn.ledger
  const answer = closingAnswer(ended.ending, timeline, turn.turnId, ended.violationCode)
  const decision: FinalDecision = { action: 'exit', answer, followups: [], truncated: ended.exitReason === 'max_iterations' }
  const attempts = progress.attempts.at(-1)?.text === answer ? progress.attempts.slice(0, -1) : progress.attempts
  await turn.ledger.commit((now) => [
    ...(ended.changes ?? []),
    ...resolved(append([...(ended.drafts ?? []), ...lastDrafts(turn, now, attempts, decision, progress.iteration)]), now),
    ...closing(turn, now, decision, ended.exitReason),
  ])
  if (progress.attempts.at(-1)?.text !== answer) sayAnswer(turn, progress.iteration, answer)
  return resultOf(turn, decision, ended.exitReason, ended.error)
}

/** Everything the user was told in this turn, the last word last, and what may be asked next. */
export function lastDrafts(
  turn: Turn,
  timeline: Timeline,
  attempts: readonly Attempt[],
  decision: FinalDecision,
  iteration: number,
): readonly Draft[] {
  const ts = turn.clock.now()
  const last: Attempt = { text: decision.answer, iteration, truncated: decision.truncated }
  const said = [...attempts, last]
  return [
    ...said.map(({ text, iteration: at, truncated }, index) =>
      assistantCompletion(turn.turnId, ts, {
        text,
        sourcesUsed: citedIn(text, timeline),
        iteration: at,
        index: index + 1,
        count: said.length,
        ...(truncated && { truncated }),
      }),
    ),
    ...(decision.questions?.length ? [clarification(turn.turnId, ts, decision.questions)] : []),
    ...(decision.followups.length > 0 ? [suggestedFollowups(turn.turnId, ts, decision.followups)] : []),
  ]
}

/** The close, and what the turn leaves behind besides its blocks. */
export function closing(turn: Turn, timeline: Timeline, decision: FinalDecision, exitReason: ExitReason): readonly Change[] {
  const ts = turn.clock.now()
  const sids = citedInTurn(timeline, turn.turnId, decision.answer)
  const tokens = blocksOfTurn(timeline, turn.turnId).reduce((sum, block) => sum + turn.view.estimator.content(block), 0)
  return [
    ...(sids.length > 0 ? [{ type: 'sources.used' as const, ts, sids }] : []),
    ...tooLate(timeline, ts),
    { type: 'turn.closed', turn_id: turn.turnId, ts, exit_reason: exitReason, sources_used: sids, tokens },
  ]
}

export function resultOf(turn: Turn, decision: FinalDecision, exitReason: ExitReason, error?: Error): TurnResult {
  return {
    turnId: turn.turnId,
    exitReason,
    ok: good.has(exitReason),
    answer: decision.answer,
    followups: decision.followups,
    sourcesUsed: citedIn(decision.answer, turn.ledger.timeline),
    truncated: decision.truncated,
    ...(error && { error }),
  }
}

/** The process is going down, or another has taken over: nothing is entered, and the turn stays open for whoever takes it up. */
export function cancelled({ turnId }: Pick<Turn, 'turnId'>): TurnResult {
  return { turnId, exitReason: 'cancelled', ok: false, answer: '', followups: [], sourcesUsed: [], truncated: false }
}

/** SIDs that the text cites and that exist: no other number ever leaves the house. */
export function citedIn(text: string, { sources }: Timeline): readonly number[] {
  const known = new Set(sources.rows.map(({ sid }) => sid))
  return extractSids(text).filter((sid) => known.has(sid))
}

function citedInTurn(timeline: Timeline, turnId: string, answer: string): readonly number[] {
  const made = blocksOfTurn(timeline, turnId).flatMap(({ meta }) => meta?.sources_used ?? [])
  return [...new Set([...made, ...citedIn(answer, timeline)])].sort((a, b) => a - b)
}

function clarification(turnId: string, ts: string, questions: readonly string[]): Draft {
  return stage('clarification', turnId, ts, `[STAGE: CLARIFICATION]\nquestions: ${questions.join(' | ')}`, { questions })
}

const resolved = (changes: ReturnType<typeof append>, timeline: Timeline) => (typeof changes === 'function' ? changes(timeline) : changes)
