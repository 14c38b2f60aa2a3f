import { type Block, isHidden } from '../block/block.ts'
import { cutAt } from '../cut.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { omitUndefined } from '../json.ts'
import { promptPath } from '../path/build.ts'
import { oneLine } from '../render/text.ts'
import type { Slice } from '../render/types.ts'
import { applyChange } from '../timeline/apply.ts'
import { blocksOfChange, type Change } from '../timeline/change.ts'
import { assignIds, blockById, positionOf, type Timeline } from '../timeline/timeline.ts'
import { checkpointBlock, foldBlocks, foldedByCheckpoint } from './checkpoint.ts'
import type { CompactionKind, CompactionPlan } from './compaction.ts'
import { coveredTurnIds, narrativeOf, type SummaryLimits, summaryBlocks, summaryTokens, summaryWithin, wholeSummary } from './summary.ts'

/** The model's answers to the requests of a plan. An answer is undefined or blank when its request failed. */
export interface SummaryAnswers {
  readonly history?: string | undefined
  readonly prefix?: string | undefined
}

export type CompactionResult =
  | { readonly status: 'completed'; readonly changes: readonly Change[]; readonly report: CompactionReport }
  | { readonly status: 'skipped'; readonly reason: SkipReason; readonly report: CompactionReport }

/**
 * Computes the changes that carry out a plan. They must be appended together. The compaction is skipped in three cases: the model wrote no
 * summary of the earlier turns, the timeline has changed since the plan was made, or the visible blocks would not have fewer tokens
 * afterwards.
 */
export function finishCompaction(
  timeline: Timeline,
  plan: CompactionPlan,
  answers: SummaryAnswers,
  context: { readonly now: string; readonly tokens: Estimator; readonly slice: (timeline: Timeline) => Slice },
): CompactionResult {
  const { now, tokens, slice } = context
  const shownTokens = (value: Timeline) => slice(value).shown.reduce((sum, { parts }) => sum + tokens.parts(parts), 0)
  const skip = (reason: SkipReason): CompactionResult => ({ status: 'skipped', reason, report: skippedReport(plan, reason) })

  if (!planStillApplies(timeline, plan)) return skip('timeline_changed')
  const summary = summaryText(plan, answers)
  if (plan.history && summary === undefined) return skip('empty_history_summary')

  const changes: Change[] = []
  let after = timeline
  const add = (change: Change) => {
    changes.push(change)
    after = applyChange(after, change)
  }
  if (plan.history) {
    const { range, afterId } = plan.history
    const change = (limits: SummaryLimits): Change => {
      const blocks = assignIds(timeline, summaryBlocks(range, summary ?? '', now, tokens, limits))
      return { type: 'range.compacted', after_id: afterId, blocks, covered: coveredTurnIds(range) }
    }
    const whole = change(wholeSummary)
    const fits = tokensOfBlocks(slice(applyChange(timeline, whole)), blocksOfChange(whole), tokens) <= summaryTokens(plan.room)
    add(fits ? whole : change(summaryWithin(summaryTokens(plan.room))))
  }
  if (plan.prefix) for (const change of checkpointChanges(after, plan, plan.prefix.ids, answers.prefix, now, tokens)) add(change)
  for (const change of hideBinaries(after, plan.binaries)) add(change)

  const [beforeTokens, afterTokens] = [shownTokens(timeline), shownTokens(after)]
  if (afterTokens >= beforeTokens) return skip('no_visible_token_reduction')
  return { status: 'completed', changes, report: completedReport(plan, { beforeTokens, afterTokens, changes }) }
}

function tokensOfBlocks({ shown }: Slice, blocks: readonly Block[], tokens: Estimator): number {
  const ids = new Set(blocks.map(({ id }) => id))
  return shown.reduce((sum, { block, parts }) => sum + (ids.has(block.id) ? tokens.parts(parts) : 0), 0)
}

function planStillApplies(timeline: Timeline, plan: CompactionPlan): boolean {
  const ids = [...(plan.history ? [plan.history.afterId] : []), ...(plan.prefix?.ids ?? [])]
  return ids.every((id) => positionOf(timeline, id) !== undefined)
}

/**
 * The text of the summary. If the model wrote no summary, the result is undefined, and the compaction is skipped. There is one exception:
 * if the provider has rejected the prompt as too long, the turn can not continue without a compaction. In this case the text is made from
 * the requests and answers in the blocks.
 */
function summaryText(plan: CompactionPlan, answers: SummaryAnswers): string | undefined {
  const text = answers.history?.trim()
  if (text) return text
  if (!plan.history || !plan.force) return undefined
  const { previous, blocks } = plan.history.range
  return fallbackSummary(blocks, previous && narrativeOf(previous))
}

function checkpointChanges(
  timeline: Timeline,
  plan: CompactionPlan,
  ids: readonly string[],
  text: string | undefined,
  now: string,
  tokens: Estimator,
): readonly Change[] {
  const prefix = ids.flatMap((id) => blockById(timeline, id) ?? [])
  const folded = foldedByCheckpoint(prefix, tokens, plan.room)
  const last = prefix.at(-1)
  if (!last || folded.length === 0) return []
  const input = { turnId: plan.currentTurnId, now, text, folded, room: plan.room }
  const draft = checkpointBlock(prefix, input, tokens)
  return [...foldBlocks(folded, draft.path), { type: 'blocks.inserted', after_id: last.id, blocks: assignIds(timeline, [draft]) }]
}

/** The changes that hide these images and documents. All blocks at one path are hidden by one change. */
function hideBinaries(timeline: Timeline, ids: readonly string[]): readonly Change[] {
  const groups = new Map<string, string[]>()
  for (const block of ids.flatMap((id): Block | readonly Block[] => blockById(timeline, id) ?? [])) {
    if (isHidden(block)) continue
    const key = block.path ?? block.id
    groups.set(key, [...(groups.get(key) ?? []), block.id])
  }
  return [...groups.values()].map((group) => ({
    type: 'blocks.hidden',
    ids: group,
    replacement_text: 'image or document taken out of sight: the context was too long',
    reason: 'hide',
  }))
}

export type SkipReason = 'empty_history_summary' | 'no_visible_token_reduction' | 'timeline_changed'

/** A report about a compaction, for hooks and for clients. Its keys are snake_case because it is sent to clients. */
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

/** The report at the start of a compaction, before the model is asked for summaries. */
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
    covered_turn_ids: plan.history ? coveredTurnIds(plan.history.range) : [],
  }
}

const skippedReport = (plan: CompactionPlan, reason: SkipReason): CompactionReport => ({
  ...startedReport(plan),
  status: 'skipped',
  reason,
})

function completedReport(
  plan: CompactionPlan,
  outcome: { readonly beforeTokens: number; readonly afterTokens: number; readonly changes: readonly Change[] },
): CompactionReport {
  return omitUndefined({
    ...startedReport(plan),
    status: 'completed' as const,
    before_tokens: outcome.beforeTokens,
    after_tokens: outcome.afterTokens,
    compacted_tokens: outcome.beforeTokens - outcome.afterTokens,
    compacted_blocks: plan.history?.range.blocks.length ?? 0,
    hidden_blocks: outcome.changes.reduce((count, change) => count + (change.type === 'blocks.hidden' ? change.ids.length : 0), 0),
    inserted_blocks: outcome.changes.reduce((count, change) => count + blocksOfChange(change).length, 0),
  })
}

const MAX_TURNS = 24
const PREVIOUS_CHARS = 8000

/**
 * A summary that is made without a model, from the requests and answers of the last turns. As with every summary, the lists of paths are
 * added later.
 */
function fallbackSummary(blocks: readonly Block[], previous: string | undefined): string {
  const turns = new Map<string, { request?: string; answer?: string }>()
  for (const block of blocks) {
    const turn = turns.get(block.turn_id) ?? {}
    if (block.type === 'user.prompt') turn.request = oneLine(block.text ?? '', 200)
    if (block.type === 'assistant.completion') turn.answer = oneLine(block.text ?? '', 300)
    if (turn.request !== undefined || turn.answer !== undefined) turns.set(block.turn_id, turn)
  }
  const lines = [...turns].slice(-MAX_TURNS).map(([turnId, { request, answer }]) => {
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
