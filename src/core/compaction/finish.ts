import { type Block, isHidden } from '../block/block.ts'
import type { Estimator } from '../estimate/estimate.ts'
import type { Slice } from '../render/slice.ts'
import { applyChange } from '../timeline/apply.ts'
import type { Change } from '../timeline/change.ts'
import { assignIds } from '../timeline/enter.ts'
import { blockById, positionOf, type Timeline } from '../timeline/timeline.ts'
import { checkpoint, foldedByCheckpoint } from './checkpoint.ts'
import type { CompactionPlan } from './compaction.ts'
import { fallbackSummary } from './fallback.ts'
import { type CompactionReport, completedReport, type SkipReason, skippedReport } from './report.ts'
import { coveredTurnIds, narrativeOf, summaryBlocks } from './summary.ts'

/** What the model answered to the requests of the plan; undefined or blank where it failed. */
export interface SummaryAnswers {
  readonly history?: string | undefined
  readonly prefix?: string | undefined
}

export type CompactionResult =
  | { readonly status: 'completed'; readonly changes: readonly Change[]; readonly report: CompactionReport }
  | { readonly status: 'skipped'; readonly reason: SkipReason; readonly report: CompactionReport }

/**
 * The changes that carry out a plan, to be committed as one append. They are tried on a copy first: a summary that failed, or one that
 * would not make the context smaller, changes nothing.
 */
export function finishCompaction(
  timeline: Timeline,
  plan: CompactionPlan,
  answers: SummaryAnswers,
  world: { readonly now: string; readonly tokens: Estimator; readonly slice: (timeline: Timeline) => Slice },
): CompactionResult {
  const { now, tokens, slice } = world
  const shown = (value: Timeline) => slice(value).shown.reduce((sum, { parts }) => sum + tokens.parts(parts), 0)
  const skip = (reason: SkipReason): CompactionResult => ({ status: 'skipped', reason, report: skippedReport(plan, reason) })

  if (!planStillApplies(timeline, plan)) return skip('timeline_changed')
  const summary = summaryText(plan, answers)
  if (plan.history && summary === undefined) return skip('empty_history_summary')

  const changes: Change[] = []
  let after = timeline
  const commit = (change: Change) => {
    changes.push(change)
    after = applyChange(after, change)
  }
  if (plan.history) {
    const { leaving, afterId } = plan.history
    const blocks = assignIds(after, summaryBlocks(leaving, summary ?? '', now, tokens))
    commit({ type: 'range.compacted', after_id: afterId, blocks, covered: coveredTurnIds(leaving) })
  }
  if (plan.prefix) for (const change of checkpointChanges(after, plan, plan.prefix.ids, answers.prefix, now, tokens)) commit(change)
  for (const change of hideBinaries(after, plan.binaries)) commit(change)

  const [beforeTokens, afterTokens] = [shown(timeline), shown(after)]
  if (afterTokens >= beforeTokens) return skip('no_visible_token_reduction')
  return { status: 'completed', changes, report: completedReport(plan, { beforeTokens, afterTokens, changes }) }
}

function planStillApplies(timeline: Timeline, plan: CompactionPlan): boolean {
  const ids = [...(plan.history ? [plan.history.afterId] : []), ...(plan.prefix?.ids ?? [])]
  return ids.every((id) => positionOf(timeline, id) !== undefined)
}

/** Never a mechanical summary in place of a model's, unless the turn could not go on without one. */
function summaryText(plan: CompactionPlan, answers: SummaryAnswers): string | undefined {
  const text = answers.history?.trim()
  if (text) return text
  if (!plan.history || !plan.force) return undefined
  const { previous, blocks } = plan.history.leaving
  return fallbackSummary(blocks, previous && narrativeOf(previous))
}

/** How much of the context the ledger may take: 24,000 characters of the usual 80,000 tokens, and never more than a checkpoint shows. */
const callReportChars = (limit: number) => Math.min(28_000, Math.max(2000, Math.floor(0.3 * limit)))

function checkpointChanges(
  timeline: Timeline,
  plan: CompactionPlan,
  ids: readonly string[],
  text: string | undefined,
  now: string,
  tokens: Estimator,
): readonly Change[] {
  const prefix = ids.flatMap((id) => blockById(timeline, id) ?? [])
  const folded = foldedByCheckpoint(prefix, tokens)
  const last = prefix.at(-1)
  if (!last || folded.length === 0) return []
  const input = { turnId: plan.currentTurnId, now, text, folded, ledgerChars: callReportChars(plan.limit) }
  const draft = checkpoint(prefix, input, tokens)
  return [
    { type: 'blocks.hidden', ids: folded.map(({ id }) => id), replacement_text: `folded into ${draft.path}`, reason: 'compaction' },
    { type: 'blocks.inserted', after_id: last.id, blocks: assignIds(timeline, [draft]) },
  ]
}

function hideBinaries(timeline: Timeline, ids: readonly string[]): readonly Change[] {
  const groups = new Map<string, string[]>()
  for (const block of ids.flatMap((id): Block | readonly Block[] => blockById(timeline, id) ?? [])) {
    if (isHidden(block)) continue
    const name = block.path ?? block.id
    groups.set(name, [...(groups.get(name) ?? []), block.id])
  }
  return [...groups.values()].map((group) => ({
    type: 'blocks.hidden',
    ids: group,
    replacement_text: 'image or document taken out of sight: the context was too long',
    reason: 'hide',
  }))
}
