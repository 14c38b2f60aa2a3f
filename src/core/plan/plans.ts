import type { Block } from '../block/block.ts'
import { type Plan, readPlan, type StepStatus } from '../block/plan.ts'
import { blockAt, type Timeline } from '../timeline/timeline.ts'

export type PlanState = 'open' | 'closed' | 'superseded' | 'complete'

export function planState(plan: Plan): PlanState {
  if (plan.superseded_ts !== undefined) return 'superseded'
  if (plan.closed_ts !== undefined) return 'closed'
  return plan.steps.length > 0 && plan.steps.every((_, index) => isFinished(stepStatus(plan, index + 1))) ? 'complete' : 'open'
}

/** Steps are numbered from 1; one that nothing was said about is pending. */
export function stepStatus(plan: Plan, step: number): StepStatus {
  const key = String(step)
  return (Object.hasOwn(plan.status, key) ? plan.status[key] : undefined) ?? 'pending'
}

export const isFinished = (status: StepStatus): boolean => status === 'done' || status === 'failed'

/** The newest snapshot of every plan, in order of first appearance. Hidden snapshots count: hiding changes what is shown, not what is. */
export function plansOf(timeline: Timeline): readonly Plan[] {
  const blocks = planBlocks(timeline)
  if (blocks.length === 0) return []
  const newest = new Map<string, Plan>()
  for (const block of blocks) {
    const plan = readPlan(block)
    if (plan) newest.set(plan.plan_id, plan)
  }
  return [...newest.values()]
}

export const planById = (timeline: Timeline, planId: string): Plan | undefined =>
  plansOf(timeline).find(({ plan_id }) => plan_id === planId)

/** Plans that are neither closed, superseded nor complete; the one touched last comes last. */
export function openPlans(timeline: Timeline): readonly Plan[] {
  const plans = plansOf(timeline)
  if (plans.length === 0) return plans
  return plans.filter((plan) => planState(plan) === 'open').sort(byTime)
}

/** The one plan whose steps may be acknowledged. Closing or completing it promotes no other. */
export const currentPlan = (timeline: Timeline): Plan | undefined => openPlans(timeline).findLast(({ current }) => current === true)

function byTime(a: Plan, b: Plan): number {
  return compare(a.last_ts ?? '', b.last_ts ?? '') || compare(a.plan_id, b.plan_id)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Where the plan blocks of a spine are, as far as it was read: plans are asked for every round, and the timeline only grows. */
const planPositions = new WeakMap<Timeline['buffer'], { read: number; readonly positions: number[] }>()

const none: readonly Block[] = []

function planBlocks(timeline: Timeline): readonly Block[] {
  let known = planPositions.get(timeline.buffer)
  if (!known) {
    known = { read: 0, positions: [] }
    planPositions.set(timeline.buffer, known)
  }
  for (; known.read < timeline.size; known.read++) {
    const type = blockAt(timeline, known.read)?.type
    if (type === 'react.plan' || type === 'react.plan.preserved') known.positions.push(known.read)
  }
  if (known.positions.length === 0) return none
  return known.positions.flatMap((position) => blockAt(timeline, position) ?? []) // positions beyond this value belong to newer ones
}
