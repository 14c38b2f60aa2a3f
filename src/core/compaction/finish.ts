import { type Block, isHidden } from '../block/block.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { omitUndefined } from '../json.ts'
import { promptPath } from '../path/build.ts'
import { cutAt, oneLine } from '../render/text.ts'
import type { Slice } from '../render/types.ts'
import { applyChange } from '../timeline/apply.ts'
import { blocksOfChange, type Change } from '../timeline/change.ts'
import { assignIds, blockById, positionOf, type Timeline } from '../timeline/timeline.ts'
import { checkpoint, foldedByCheckpoint } from './checkpoint.ts'
import type { CompactionKind, CompactionPlan } from './compaction.ts'
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

export type SkipReason = 'empty_history_summary' | 'no_visible_token_reduction' | 'timeline_changed'

/** What hooks and events are told. Keys are snake_case because they go out. */
export interface CompactionReport {
  readonly compaction_id: string
  readonly status: 'started' | 'completed' | 'skipped'
  readonly kind: CompactionKind
  readonly force: boolean
  readonly attempt: number
  readonly trigger_reason: 'over_limit' | 'context_overflow'
  readonly before_tokens: number
  readonly max_tokens: number
  readonly cut_index: number
  readonly split_turn: boolean
  readonly current_turn: string
  readonly covered_turn_ids: readonly string[]
  readonly reason?: SkipReason
  readonly after_tokens?: number
  readonly compacted_tokens?: number
  readonly compacted_blocks?: number
  readonly hidden_blocks?: number
  readonly inserted_blocks?: number
}

/** Before the model is asked: a cut was found. */
export function startedReport(plan: CompactionPlan): CompactionReport {
  return {
    compaction_id: plan.id,
    status: 'started',
    kind: plan.kind,
    force: plan.force,
    attempt: plan.attempt,
    trigger_reason: plan.force ? 'context_overflow' : 'over_limit',
    before_tokens: plan.beforeTokens,
    max_tokens: plan.limit,
    cut_index: plan.cutIndex,
    split_turn: plan.prefix !== undefined,
    current_turn: plan.currentTurnId,
    covered_turn_ids: plan.history ? coveredTurnIds(plan.history.leaving) : [],
  }
}

export const skippedReport = (plan: CompactionPlan, reason: SkipReason): CompactionReport => ({
  ...startedReport(plan),
  status: 'skipped',
  reason,
})

export function completedReport(
  plan: CompactionPlan,
  done: { readonly beforeTokens: number; readonly afterTokens: number; readonly changes: readonly Change[] },
): CompactionReport {
  return omitUndefined({
    ...startedReport(plan),
    status: 'completed' as const,
    before_tokens: done.beforeTokens,
    after_tokens: done.afterTokens,
    compacted_tokens: done.beforeTokens - done.afterTokens,
    compacted_blocks: plan.history?.leaving.blocks.length ?? 0,
    hidden_blocks: done.changes.reduce((count, change) => count + (change.type === 'blocks.hidden' ? change.ids.length : 0), 0),
    inserted_blocks: done.changes.reduce((count, change) => count + blocksOfChange(change).length, 0),
  })
}

const MOST_TURNS = 24
const PREVIOUS_CHARS = 8000

/**
 * A summary without a model, for one case only: the prompt was too long, so the turn cannot go on without a shorter one, and the
 * model that should summarise did not answer. It says what was asked and answered; the appendix and the digest say the rest.
 */
export function fallbackSummary(blocks: readonly Block[], previous: string | undefined): string {
  const turns = new Map<string, { request?: string; answer?: string }>()
  for (const block of blocks) {
    const turn = turns.get(block.turn_id) ?? {}
    if (block.type === 'user.prompt') turn.request = oneLine(block.text ?? '', 200)
    if (block.type === 'assistant.completion') turn.answer = oneLine(block.text ?? '', 300)
    if (turn.request !== undefined || turn.answer !== undefined) turns.set(block.turn_id, turn)
  }
  const lines = [...turns].slice(-MOST_TURNS).map(([turnId, { request, answer }]) => {
    const asked = request === undefined ? '' : ` asked: ${request}`
    return `- ${promptPath(turnId)}${asked}${answer === undefined ? '' : `\n  answered: ${answer}`}`
  })
  return [
    ...(previous ? [cutAt(previous, PREVIOUS_CHARS)] : []),
    '## Active Work Reminder',
    'No model wrote this part: earlier turns were folded without a summary because the context was too long.',
    '## Progress',
    ...lines,
  ].join('\n')
}
