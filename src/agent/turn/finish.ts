import { type Block, clarificationBlock, completionBlock, type Draft, suggestedFollowupsBlock } from '../../core/block/index.ts'
import { extractSids, rewriteSids } from '../../core/citations/sids.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import { type FallbackReason, fallbackAnswer } from '../../core/decision/fallback-answer.ts'
import { contentTokens } from '../../core/estimate/estimate.ts'
import type { SourcePool } from '../../core/sources/pool.ts'
import type { Change } from '../../core/timeline/change.ts'
import { assignIds, blockAt, type Timeline } from '../../core/timeline/timeline.ts'
import { emitAnswer } from '../model-call/live-output.ts'
import { commitEnd, discardLateSteers } from './incoming-events.ts'
import type { AnswerAttempt, Progress } from './progress.ts'
import type { Turn } from './turn.ts'
import { publishWorkspace } from './workspace.ts'

export type ExitReason = 'complete' | 'exit' | 'max_iterations' | 'time' | 'budget' | 'protocol_violation' | 'steer' | 'error' | 'cancelled'

/** A turn that the model did not end itself. */
export interface ForcedEnd {
  readonly exitReason: ExitReason
  readonly ending: FallbackReason
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
  /** The answer was cut off, or the budget was used up before the work was done. */
  readonly truncated: boolean
  readonly error?: Error
}

const okReasons: ReadonlySet<ExitReason> = new Set(['complete', 'exit', 'max_iterations', 'time', 'budget', 'steer'])

const truncatedReasons: ReadonlySet<ExitReason> = new Set(['max_iterations', 'time', 'budget'])

/** Ends a turn with what it last said, else with fixed words: a turn never ends silent. */
export async function finishTurn(turn: Turn, progress: Progress, ended: ForcedEnd): Promise<TurnResult> {
  const { timeline } = turn.ledger
  const answer = fallbackAnswer(ended.ending, timeline, turn.turnId, ended.violationCode)
  const decision: FinalDecision = { action: 'exit', answer, followups: [], truncated: false }
  const repeated = progress.attempts.at(-1)?.text === answer
  const attempts = repeated ? progress.attempts.slice(0, -1) : progress.attempts
  if (!repeated) emitAnswer(turn, progress.iteration, answer)
  const [before, after] = [await turn.hooks.onBeforeCompletion(), await turn.hooks.onAfterCompletion()]
  const left = okReasons.has(ended.exitReason) ? await publishWorkspace(turn) : undefined
  const exitReason = left?.error ? 'error' : ended.exitReason
  await commitEnd(turn, progress, (now) => {
    const said = [...before, ...completionDrafts(turn, now, attempts, decision, progress.iteration), ...after, ...(left?.drafts ?? [])]
    return [
      ...(ended.changes ?? []),
      { type: 'blocks.appended', blocks: assignIds(now, [...(ended.drafts ?? []), ...said]) },
      ...closingChanges(turn, now, decision, exitReason),
    ]
  })
  return turnResult(turn, decision, exitReason, ended.error ?? left?.error)
}

/** Everything the user was told in this turn, the last word last, and what may be asked next. */
export function completionDrafts(
  turn: Turn,
  timeline: Timeline,
  attempts: readonly AnswerAttempt[],
  decision: FinalDecision,
  iteration: number,
): readonly Draft[] {
  const ts = turn.clock.now()
  const last: AnswerAttempt = { text: decision.answer, iteration, truncated: decision.truncated }
  const said = [...attempts, last]
  return [
    ...said.map(({ text, iteration: at, truncated }, index) =>
      completionBlock(turn.turnId, ts, {
        text,
        sourcesUsed: citedSources(text, timeline),
        iteration: at,
        index: index + 1,
        count: said.length,
        ...(truncated && { truncated }),
      }),
    ),
    ...(decision.questions?.length ? [clarificationBlock(turn.turnId, ts, decision.questions)] : []),
    ...(decision.followups.length > 0 ? [suggestedFollowupsBlock(turn.turnId, ts, decision.followups)] : []),
  ]
}

/** The close, and what the turn leaves behind besides its blocks. */
export function closingChanges(turn: Turn, timeline: Timeline, decision: FinalDecision, exitReason: ExitReason): readonly Change[] {
  const ts = turn.clock.now()
  const { tokens, sids } = turnTotals(turn, timeline, decision.answer)
  return [
    ...(sids.length > 0 ? [{ type: 'sources.used' as const, ts, sids }] : []),
    ...discardLateSteers(timeline, ts),
    { type: 'turn.closed', turn_id: turn.turnId, ts, exit_reason: exitReason, sources_used: sids, tokens },
  ]
}

/** As whoever asked may show it: the timeline holds what the model wrote, and this only citations of sources that exist. */
export function turnResult(turn: Turn, decision: FinalDecision, exitReason: ExitReason, error?: Error): TurnResult {
  const { timeline } = turn.ledger
  return {
    turnId: turn.turnId,
    exitReason,
    ok: okReasons.has(exitReason),
    answer: withExistingCitations(decision.answer, timeline),
    followups: decision.followups.map((followup) => withExistingCitations(followup, timeline)),
    sourcesUsed: citedSources(decision.answer, timeline),
    truncated: decision.truncated || truncatedReasons.has(exitReason),
    ...(error && { error }),
  }
}

/** The process is going down, or another has taken over: nothing is entered, and the turn stays open for whoever takes it up. */
export function cancelledResult({ turnId }: Pick<Turn, 'turnId'>): TurnResult {
  return { turnId, exitReason: 'cancelled', ok: false, answer: '', followups: [], sourcesUsed: [], truncated: false }
}

/** SIDs that the text cites and that exist: no other number ever leaves the house. */
export function citedSources(text: string, { sources }: Timeline): readonly number[] {
  return existingSids(extractSids(text), sources)
}

const withExistingCitations = (text: string, timeline: Timeline): string =>
  rewriteSids(text, new Map(citedSources(text, timeline).map((sid) => [sid, sid])))

function existingSids(sids: readonly number[], { rows }: SourcePool): readonly number[] {
  if (sids.length === 0) return sids
  const known = new Set(rows.map(({ sid }) => sid))
  return sids.filter((sid) => known.has(sid))
}

const noSids: readonly number[] = []

/**
 * How much the turn has entered, and what it cited by its answers and by what it made; an artifact may name a source that does not exist.
 * Every block is looked at, once a turn: what a turn makes of the past, such as a summary, stands before its header.
 */
function turnTotals(turn: Turn, timeline: Timeline, answer: string): { readonly tokens: number; readonly sids: readonly number[] } {
  const cited = new Set(extractSids(answer))
  let tokens = 0
  for (let position = 0; position < timeline.size; position++) {
    const block = blockAt(timeline, position) as Block // below the size there is one
    if (block.turn_id !== turn.turnId) continue
    tokens += contentTokens(block, turn.renderers.estimator.text)
    for (const sid of block.meta?.sources_used ?? noSids) cited.add(sid)
  }
  return {
    tokens,
    sids: existingSids(
      [...cited].sort((a, b) => a - b),
      timeline.sources,
    ),
  }
}
