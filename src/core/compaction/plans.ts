import { z } from 'zod'
import type { Block, BlockType, Draft } from '../block/block.ts'
import { type Plan, readPlan, stepStatuses } from '../block/plan.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import { latestPlanPath } from '../path/build.ts'
import { planState } from '../plan/plans.ts'
import { stepMarks } from '../render/blocks/plan.ts'
import { cutText } from '../render/text.ts'

/** A plan in the digest of a summary: the steps of its newest block, and the path of this block. */
export const PlanEntry = z.looseObject({
  plan_id: z.string(),
  snapshot_path: z.string(),
  state: z.string(),
  last_ts: z.string(),
  steps: z.array(z.string()),
  status: z.record(z.string(), z.enum(stepStatuses)).catch({}),
})
export type PlanEntry = z.infer<typeof PlanEntry>

export function planOutcome(plan: Plan): 'closed' | 'superseded' | 'complete' | 'unfinished' {
  const state = plan.superseded_by_plan_id === undefined ? planState(plan) : 'superseded'
  return state === 'open' ? 'unfinished' : state
}

/** The newest block of each plan, in the order of the blocks. */
export function newestSnapshots(blocks: readonly Block[]): readonly { readonly block: Block; readonly plan: Plan }[] {
  const newest = new Map<string, { readonly block: Block; readonly plan: Plan }>()
  for (const block of blocks) {
    const plan = readPlan(block)
    if (!plan) continue
    newest.delete(plan.plan_id)
    newest.set(plan.plan_id, { block, plan })
  }
  return [...newest.values()]
}

export function planEntry({ block, plan }: { readonly block: Block; readonly plan: Plan }): PlanEntry {
  return {
    plan_id: plan.plan_id,
    snapshot_path: originalPath(block) ?? '',
    state: planOutcome(plan),
    last_ts: plan.last_ts ?? block.ts,
    steps: plan.steps,
    status: plan.status,
  }
}

/**
 * After a compaction, the agent can still read this many of the newest plans by path, and this many of the newest unfinished plans. Older
 * plans are only in the digest of the summary. The text about earlier plans has at most this many plans.
 */
export const MAX_PLANS = 12
const MAX_STEPS = 20
const STEP_CHARS = 120
const MAX_CHARS = 14_000

/**
 * The text about earlier plans, newest first. At its end it says how many older plans were left out. The digest of the summary contains all
 * plans.
 */
export function planHistoryText(entries: readonly PlanEntry[], count: TokenCounter, maxTokens: number): string {
  const shown: string[] = []
  let length = 0
  let tokens = 0
  for (const [index, entry] of entries.toReversed().entries()) {
    const text = planText(entry, entries.length - index)
    length += text.length + 1
    tokens += count(text)
    if (shown.length === MAX_PLANS || length > MAX_CHARS || tokens > maxTokens) break
    shown.push(text)
  }
  const more = entries.length - shown.length
  return ['[COMPACTED PLAN HISTORY]', ...shown, ...(more > 0 ? [`... ${more} older plans are listed by the summary's path`] : [])].join(
    '\n',
  )
}

function planText(entry: PlanEntry, number: number): string {
  const steps = entry.steps
    .slice(0, MAX_STEPS)
    .map((step, index) => `  ${stepMarks[entry.status[String(index + 1)] ?? 'pending']} ${index + 1}) ${cutText(step, STEP_CHARS, '…')}`)
  const more = entry.steps.length - steps.length
  return [
    `- plan #${number} id=${entry.plan_id} (${entry.state}) last=${entry.last_ts}`,
    ...steps,
    ...(more > 0 ? [`  ... ${more} more steps`] : []),
    `  snapshot_ref: ${latestPlanPath(entry.plan_id)}`,
  ].join('\n')
}

/**
 * A copy of a block that is placed after the summary, in the turn `turnId`. It has the time of the original block. Its `meta` has the
 * original path and turn.
 */
export function preservedCopy(block: Block, type: BlockType, turnId: string, path?: string): Draft {
  const { id: _id, meta, ...rest } = block
  const { hidden: _h, replacement_text: _t, hidden_reason: _r, hidden_scope: _s, iteration: _i, tool_call_id: _c, ...kept } = meta ?? {}
  const { call_id: _call, ...fields } = rest
  const source = originalPath(block)
  return {
    ...fields,
    type,
    turn_id: turnId,
    ...(path !== undefined && { path }),
    meta: {
      ...kept,
      ...(source !== undefined && { source_path: source }),
      source_turn_id: originalTurnId(block),
      preserved_by_compaction: true,
    },
  }
}

/** The path of the original block if the block is a copy. Otherwise the path of the block itself. */
export const originalPath = (block: Block): string | undefined =>
  typeof block.meta?.source_path === 'string' ? block.meta.source_path : block.path
const originalTurnId = (block: Block): string =>
  typeof block.meta?.source_turn_id === 'string' ? block.meta.source_turn_id : block.turn_id
