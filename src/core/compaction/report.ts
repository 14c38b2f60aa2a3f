import { omitUndefined } from '../json.ts'
import { blocksOfChange, type Change } from '../timeline/change.ts'
import type { CompactionKind, CompactionPlan } from './compaction.ts'
import { coveredTurnIds } from './summary.ts'

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
