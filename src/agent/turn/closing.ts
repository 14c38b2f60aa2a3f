import {
  type Block,
  type BlockOrigin,
  clarificationBlock,
  completionBlock,
  type Draft,
  type Notice,
  noticeBlock,
  suggestedFollowupsBlock,
} from '../../core/block/index.ts'
import { extractSids, rewriteSids } from '../../core/citations/sids.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import { warning } from '../../core/decision/violations.ts'
import type { Meter } from '../../core/estimate/estimate.ts'
import { attemptOutcomePath, attemptPath } from '../../core/path/build.ts'
import type { SourcePool } from '../../core/sources/pool.ts'
import type { Change } from '../../core/timeline/change.ts'
import { newestOfKind, startOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { discardLateSteers } from './incoming-events.ts'
import type { Progress } from './progress.ts'
import type { ExitReason } from './result.ts'

/**
 * The blocks that end a turn: the earlier answers of this turn that users saw, the final answer, its questions to the user, and its
 * suggested followup questions.
 */
export function completionDrafts(
  { turnId, ts, iteration }: Pick<BlockOrigin, 'turnId' | 'ts' | 'iteration'>,
  timeline: Timeline,
  attempts: readonly AnswerAttempt[],
  decision: FinalDecision,
): readonly Draft[] {
  const last: AnswerAttempt = { text: decision.answer, iteration, truncated: decision.truncated }
  const answers = [...attempts, last]
  const ofLast = {
    ...(decision.stopped && { stopped: true }),
    ...(decision.usage && { usage: decision.usage }),
    ...(decision.output && { json: true }),
  }
  const questions = citablePhrases(decision.questions ?? [], timeline)
  const followups = citablePhrases(decision.followups, timeline)
  return [
    ...answers.map(({ text, iteration: at, truncated }, index) =>
      completionBlock(turnId, ts, {
        text,
        sourcesUsed: citedSources(text, timeline),
        iteration: at,
        index: index + 1,
        count: answers.length,
        ...(truncated && { truncated }),
        ...(index === answers.length - 1 && ofLast),
      }),
    ),
    ...(questions.length > 0 ? [clarificationBlock(turnId, ts, questions)] : []),
    ...(followups.length > 0 ? [suggestedFollowupsBlock(turnId, ts, followups)] : []),
  ]
}

/** An answer that users have seen. `truncated` is true when the answer is not complete. */
export interface AnswerAttempt {
  readonly text: string
  readonly iteration: number
  readonly truncated: boolean
}

/** The progress after an answer that the user has seen but that did not end the turn. */
export function withAttempt({ unfinished: _replaced, ...progress }: Progress, attempt: AnswerAttempt): Progress {
  return { ...progress, attempts: [...progress.attempts, attempt], eventsAtAttempt: progress.events.length }
}

/**
 * Why an answer that the user has seen does not end the turn. `new_event`: an event arrived. `second_action`: the response contained
 * another action after it.
 */
export type HoldReason = 'new_event' | 'second_action'

/** The blocks of an answer that does not end the turn: the answer, and a text that tells the model why the turn continues. */
export function attemptDrafts(
  origin: BlockOrigin,
  timeline: Timeline,
  { answer, truncated }: FinalDecision,
  { attempts }: Progress,
  reason: HoldReason,
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
      text: holdTexts[reason],
      meta: { completion_attempt_outcome: 'deferred', reason, iteration },
    },
  ]
}

const holdTexts: { readonly [Reason in HoldReason]: string } = {
  new_event:
    'Held back as the last word: something new came in while you were answering. The user has seen this answer. Take the new event into account, then answer.',
  second_action:
    'Held back as the last word: a second action followed it in the same reply. The user has seen this answer. Go on from it, and do not repeat it.',
}

/** Whether a block says that an answer did not end the turn because another action followed it in the response. */
export const isSecondActionOutcome = ({ type, meta }: Block): boolean =>
  type === 'assistant.completion.attempt.outcome' && meta?.reason === ('second_action' satisfies HoldReason)

/** The notices about an answer: its warnings, and a notice if the answer cites sources that do not exist. */
export function noticeDrafts(
  origin: BlockOrigin,
  timeline: Timeline,
  { answer }: FinalDecision,
  warnings: readonly Notice[],
): readonly Draft[] {
  const cited = extractSids(answer)
  const known = citedSources(answer, timeline)
  if (known.length === cited.length) return warnings.map((notice) => noticeBlock(origin, notice))
  const sids = cited.filter((sid) => !known.includes(sid))
  const text = `The answer cites sources that do not exist: ${sids.join(', ')}. The citations were left out.`
  return [...warnings, warning('unknown_sources', text, { sids })].map((notice) => noticeBlock(origin, notice))
}

/**
 * The changes that close a turn: the record of the used sources, the removal of late steers from the inbox, and `turn.closed`. A late steer
 * is one that no round has read.
 */
export function closingChanges(
  { turnId, ts }: Pick<BlockOrigin, 'turnId' | 'ts'>,
  timeline: Timeline,
  answer: string,
  exitReason: ExitReason,
  meter: Meter,
): readonly Change[] {
  const tokens = meter.turnTokens(timeline, turnId)
  const sids = sidsOfTurn(turnId, timeline, answer)
  return [
    ...(sids.length > 0 ? [{ type: 'sources.used' as const, ts, sids }] : []),
    ...discardLateSteers(timeline, ts),
    { type: 'turn.closed', turn_id: turnId, ts, exit_reason: exitReason, sources_used: sids, tokens },
  ]
}

/** The existing SIDs that the text cites. */
export function citedSources(text: string, { sources }: Timeline): readonly number[] {
  return existingSids(extractSids(text), sources)
}

/** The text for users, without citations of sources that do not exist. The timeline keeps the text that the model wrote. */
export const withExistingCitations = (text: string, timeline: Timeline): string =>
  rewriteSids(text, new Map(citedSources(text, timeline).map((sid) => [sid, sid])))

/**
 * Followup questions or clarifying questions, without citations of sources that do not exist. A question that consists only of such
 * citations is left out.
 */
export const citablePhrases = (phrases: readonly string[], timeline: Timeline): readonly string[] =>
  phrases.map((phrase) => withExistingCitations(phrase, timeline).trim()).filter((phrase) => phrase !== '')

function existingSids(sids: readonly number[], { rows }: SourcePool): readonly number[] {
  if (sids.length === 0) return sids
  const known = new Set(rows.map(({ sid }) => sid))
  return sids.filter((sid) => known.has(sid))
}

/** The existing SIDs that the answers and artifacts of the turn cite, ascending. */
function sidsOfTurn(turnId: string, timeline: Timeline, answer: string): readonly number[] {
  const cited = new Set(extractSids(answer))
  const start = startOfTurn(timeline, turnId)
  for (const block of newestOfKind(timeline, 'citing', start)) {
    if (block.turn_id === turnId) for (const sid of block.meta?.sources_used ?? []) cited.add(sid)
  }
  return existingSids(
    [...cited].sort((a, b) => a - b),
    timeline.sources,
  )
}
