// The plans of a conversation, read from the snapshots in its timeline.

import type { Block } from '../block/block.ts'
import { type Plan, readPlan, type StepStatus } from '../block/plan.ts'
import { blockAt, type Timeline } from '../timeline/timeline.ts'

export type PlanState = 'open' | 'closed' | 'superseded' | 'complete'

export function planState(plan: Plan): PlanState {
  if (plan.superseded_ts !== undefined) return 'superseded'
  if (plan.closed_ts !== undefined) return 'closed'
  return plan.steps.length > 0 && plan.steps.every((_, index) => isFinished(stepStatus(plan, index + 1))) ? 'complete' : 'open'
}

/** The status of a step. The first step has the number 1. A step without a recorded status is pending. */
export function stepStatus(plan: Plan, step: number): StepStatus {
  const key = String(step)
  return (Object.hasOwn(plan.status, key) ? plan.status[key] : undefined) ?? 'pending'
}

/** True for steps that need no more work, whether they succeeded or failed. */
export const isFinished = (status: StepStatus): boolean => status === 'done' || status === 'failed'

/** The newest snapshot of every plan, oldest plan first. Hidden snapshots count, too: hiding only affects the prompt. */
export function plansOf(timeline: Timeline): readonly Plan[] {
  const newest = new Map<string, Plan>()
  for (const block of planBlocks(timeline)) {
    const plan = readPlan(block)
    if (plan) newest.set(plan.plan_id, plan)
  }
  return [...newest.values()]
}

export const planById = (timeline: Timeline, planId: string): Plan | undefined =>
  plansOf(timeline).find(({ plan_id }) => plan_id === planId)

/** The plans that are neither closed, superseded nor complete, sorted by the time of their last change. */
export function openPlans(timeline: Timeline): readonly Plan[] {
  return plansOf(timeline)
    .filter((plan) => planState(plan) === 'open')
    .sort(byTime)
}

/** The plan whose steps the notes of a round may mark. When it is closed or complete, no other plan becomes current by itself. */
export const currentPlan = (timeline: Timeline): Plan | undefined => openPlans(timeline).findLast(({ current }) => current === true)

function byTime(a: Plan, b: Plan): number {
  return compare(a.last_ts ?? '', b.last_ts ?? '') || compare(a.plan_id, b.plan_id)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * The positions of the plan blocks among the first `searched` blocks of a buffer. Plans are needed in every round, and a buffer only
 * grows. So each block is looked at only once.
 */
const planPositions = new WeakMap<Timeline['buffer'], { searched: number; readonly positions: number[] }>()

function planBlocks(timeline: Timeline): readonly Block[] {
  let known = planPositions.get(timeline.buffer)
  if (!known) {
    known = { searched: 0, positions: [] }
    planPositions.set(timeline.buffer, known)
  }
  for (; known.searched < timeline.size; known.searched++) {
    const type = blockAt(timeline, known.searched)?.type
    if (type === 'react.plan' || type === 'react.plan.preserved') known.positions.push(known.searched)
  }
  // A position may lie beyond this timeline, when a longer one shares its buffer.
  return known.positions.flatMap((position) => blockAt(timeline, position) ?? [])
}
