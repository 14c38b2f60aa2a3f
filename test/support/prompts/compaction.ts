import {
  artifactDigestBlock,
  type Block,
  type Draft,
  decisionNotesBlock,
  internalNoteBlock,
  type Plan,
  planBlock,
} from '../../../src/core/block/index.ts'
import { type CompactionOptions, type CompactionPlan, planCompaction } from '../../../src/core/compaction/compaction.ts'
import { type CompactionResult, finishCompaction, type SummaryAnswers } from '../../../src/core/compaction/finish.ts'
import { createEstimator } from '../../../src/core/estimate/estimate.ts'
import { roughTokens } from '../../../src/core/estimate/tokens.ts'
import { createRenderer } from '../../../src/core/render/render.ts'
import type { Slice } from '../../../src/core/render/types.ts'
import { applyChange } from '../../../src/core/timeline/apply.ts'
import type { Change } from '../../../src/core/timeline/change.ts'
import { blockAt, blocksOf, type Timeline } from '../../../src/core/timeline/timeline.ts'
import { blockOrigin, call, completion, header, minute, prompt, result } from '../../../src/testing/blocks.ts'
import { timelineOf } from './timelines.ts'

export const tokens = createEstimator(roughTokens)
const renderer = createRenderer()
export const slice = (timeline: Timeline): Slice => renderer.slice(timeline)

/** The rendered timeline without the tail. */
export const shownText = (timeline: Timeline): string =>
  slice(timeline)
    .shown.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : `<${part.media_type}>`)))
    .join('\n\n')
export const shownTokens = (timeline: Timeline): number => slice(timeline).shown.reduce((sum, { parts }) => sum + tokens.parts(parts), 0)

export const plan = (timeline: Timeline, options: Partial<CompactionOptions> = {}): CompactionPlan | undefined =>
  planCompaction(timeline, {
    currentTurnId: blockAt(timeline, timeline.size - 1)?.turn_id ?? 't1',
    limit: 2000,
    systemTokens: 0,
    renderedTokens: shownTokens(timeline),
    tailTokens: 0,
    summaryLimit: 20_000,
    calibration: 1,
    keepRecentTurns: 6,
    tokens,
    slice,
    ...options,
  })

/** A summary text for every part of the plan that needs a summary. */
export const answer = (planned: CompactionPlan, text = 'What happened so far.'): SummaryAnswers => ({
  ...(planned.history && { history: text }),
  ...(planned.prefix && { prefix: text }),
})

export const finish = (timeline: Timeline, planned: CompactionPlan, answers: SummaryAnswers = answer(planned)): CompactionResult =>
  finishCompaction(timeline, planned, answers, { now: minute(5000), tokens, slice })

export interface CompactionOutcome {
  readonly timeline: Timeline
  readonly changes: readonly Change[]
}

/** Plans and finishes a compaction. Throws if no compaction is needed or the compaction is skipped. */
export function compact(timeline: Timeline, options: Partial<CompactionOptions> = {}, text?: string): CompactionOutcome {
  const planned = plan(timeline, options)
  if (!planned) throw new Error('no compaction was planned')
  const finished = finish(timeline, planned, answer(planned, text))
  if (finished.status === 'skipped') throw new Error(`skipped: ${finished.reason}`)
  return { timeline: finished.changes.reduce(applyChange, timeline), changes: finished.changes }
}

export const words = (count: number) => 'word '.repeat(count).trim()
export const round = (turnId: string, n: number, size = 40): readonly Draft[] => [
  decisionNotesBlock(blockOrigin(`${turnId}c${n}`, turnId, n), `step ${n} of ${turnId}`),
  call(`${turnId}c${n}`, 'web_tools.web_search', turnId, n),
  result(`${turnId}c${n}`, `result ${n} of ${turnId}: ${words(size)}`, turnId, n),
]
export const turn = (n: number, rounds = 2, inside: readonly Draft[] = []): readonly Draft[] => [
  header(`t${n}`, n),
  prompt(`question ${n}`, `t${n}`, n),
  ...Array.from({ length: rounds }, (_, i) => round(`t${n}`, i)).flat(),
  ...inside,
  completion(`answer ${n}: ${words(80)}`, `t${n}`, n),
]
export const turns = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => turn(from + i)).flat()
export const open = (n: number, rounds = 1, size?: number): readonly Draft[] => [
  header(`t${n}`, n),
  prompt(`question ${n}`, `t${n}`, n),
  ...Array.from({ length: rounds }, (_, i) => round(`t${n}`, i, size)).flat(),
]
export const noteDrafts = (turnId: string, name: string, text: string, callId = name): readonly Draft[] => {
  const path = `fi:${turnId}.files/${name}.md`
  return [
    call(callId, 'react.write', turnId, 5),
    artifactDigestBlock(blockOrigin(callId, turnId, 5), { artifact_path: path, visibility: 'internal', mime: 'text/markdown' }),
    internalNoteBlock(blockOrigin(callId, turnId, 5), path, text),
  ]
}
export const planDraft = (plan_id: string, steps: readonly string[], turnId: string, more: Partial<Plan> = {}) =>
  planBlock(turnId, minute(1), { plan_id, steps: [...steps], status: {}, ...more })
export const summaryOf = (timeline: Timeline) => blockAt(timeline, 0) as Block
export const types = (timeline: Timeline) => blocksOf(timeline).map(({ type }) => type)
export const ten = timelineOf([...turns(1, 10), ...open(11)])
