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

/** Why a turn end. */
export type ExitReason = 'complete' | 'exit' | 'max_iterations' | 'time' | 'budget' | 'protocol_violation' | 'steer' | 'error' | 'cancelled'

/** The end of a turn without an answer of the model. */
export interface ForcedEnd {
  readonly exitReason: ExitReason
  readonly fallback: FallbackReason
  readonly violationCode?: string
  readonly error?: Error
  /** The last response, committed together with the end. */
  readonly changes?: readonly Change[]
  /** Blocks about the last response, before the completion. */
  readonly drafts?: readonly Draft[]
}

/** The result of a turn, as the caller gets it. */
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

/** Ends a turn with a fallback answer, so that the user always gets one: the last attempt, else a fixed text. */
export async function finishTurn(turn: Turn, progress: Progress, end: ForcedEnd): Promise<TurnResult> {
  const { timeline } = turn.ledger
  const answer = fallbackAnswer(end.fallback, timeline, turn.turnId, end.violationCode)
  const decision: FinalDecision = { action: 'exit', answer, followups: [], truncated: false }
  const repeated = progress.attempts.at(-1)?.text === answer
  const attempts = repeated ? progress.attempts.slice(0, -1) : progress.attempts
  if (!repeated) emitAnswer(turn, progress.iteration, answer)
  const [before, after] = [await turn.hooks.onBeforeCompletion(), await turn.hooks.onAfterCompletion()]
  const published = okReasons.has(end.exitReason) ? await publishWorkspace(turn) : undefined
  const exitReason = published?.error ? 'error' : end.exitReason
  await commitEnd(turn, progress, (now) => {
    const completion = [
      ...before,
      ...completionDrafts(turn, now, attempts, decision, progress.iteration),
      ...after,
      ...(published?.drafts ?? []),
    ]
    return [
      ...(end.changes ?? []),
      { type: 'blocks.appended', blocks: assignIds(now, [...(end.drafts ?? []), ...completion]) },
      ...closingChanges(turn, now, decision, exitReason),
    ]
  })
  return turnResult(turn, decision, exitReason, end.error ?? published?.error)
}

/** Every answer of the turn, attempts first, then its questions and suggested followups. */
export function completionDrafts(
  turn: Turn,
  timeline: Timeline,
  attempts: readonly AnswerAttempt[],
  decision: FinalDecision,
  iteration: number,
): readonly Draft[] {
  const ts = turn.clock.now()
  const last: AnswerAttempt = { text: decision.answer, iteration, truncated: decision.truncated }
  const answers = [...attempts, last]
  return [
    ...answers.map(({ text, iteration: at, truncated }, index) =>
      completionBlock(turn.turnId, ts, {
        text,
        sourcesUsed: citedSources(text, timeline),
        iteration: at,
        index: index + 1,
        count: answers.length,
        ...(truncated && { truncated }),
      }),
    ),
    ...(decision.questions?.length ? [clarificationBlock(turn.turnId, ts, decision.questions)] : []),
    ...(decision.followups.length > 0 ? [suggestedFollowupsBlock(turn.turnId, ts, decision.followups)] : []),
  ]
}

/** The close, with the sources used. Steers that came too late are discarded. */
export function closingChanges(turn: Turn, timeline: Timeline, decision: FinalDecision, exitReason: ExitReason): readonly Change[] {
  const ts = turn.clock.now()
  const { tokens, sids } = turnTotals(turn, timeline, decision.answer)
  return [
    ...(sids.length > 0 ? [{ type: 'sources.used' as const, ts, sids }] : []),
    ...discardLateSteers(timeline, ts),
    { type: 'turn.closed', turn_id: turn.turnId, ts, exit_reason: exitReason, sources_used: sids, tokens },
  ]
}

/** Without citations of sources that do not exist. The timeline keeps the text as the model wrote it. */
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

/** For a turn that stays open, because the agent is closed or another process has claimed the conversation. */
export function cancelledResult({ turnId }: Pick<Turn, 'turnId'>): TurnResult {
  return { turnId, exitReason: 'cancelled', ok: false, answer: '', followups: [], sourcesUsed: [], truncated: false }
}

/** The existing sources that the text cites. */
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

/**
 * The tokens of all blocks of the turn, and the existing sources that its answers and artifacts cite. Reads the whole timeline, because
 * blocks of a turn, such as a summary, may stand before its header.
 */
function turnTotals(turn: Turn, timeline: Timeline, answer: string): { readonly tokens: number; readonly sids: readonly number[] } {
  const cited = new Set(extractSids(answer))
  let tokens = 0
  for (let position = 0; position < timeline.size; position++) {
    const block = blockAt(timeline, position) as Block // exists below `size`
    if (block.turn_id !== turn.turnId) continue
    tokens += contentTokens(block, turn.renderers.estimator.text)
    for (const sid of block.meta?.sources_used ?? []) cited.add(sid)
  }
  return {
    tokens,
    sids: existingSids(
      [...cited].sort((a, b) => a - b),
      timeline.sources,
    ),
  }
}
