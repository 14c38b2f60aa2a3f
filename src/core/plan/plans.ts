import type { Draft } from '../block/block.ts'
import { type Plan, planAckBlock, planBlock, readPlan, type StepStatus } from '../block/plan.ts'
import type { BlockOrigin, Notice } from '../block/round.ts'
import { warning } from '../decision/violations.ts'
import { stepMarks } from '../render/blocks/plan.ts'
import { blocksOfKind, type Timeline } from '../timeline/timeline.ts'

// This file reads the plans of a conversation from the plan blocks in its timeline. It also reads which steps a round reports as done.

export type PlanState = 'open' | 'closed' | 'superseded' | 'complete'

export function planState(plan: Plan): PlanState {
  if (plan.superseded_ts !== undefined) return 'superseded'
  if (plan.closed_ts !== undefined) return 'closed'
  return plan.steps.length > 0 && plan.steps.every((_, index) => isFinished(stepStatus(plan, index + 1))) ? 'complete' : 'open'
}

/** The status of a step. Steps are counted from 1. A step without a recorded status is pending. */
export function stepStatus(plan: Plan, step: number): StepStatus {
  const key = String(step)
  return (Object.hasOwn(plan.status, key) ? plan.status[key] : undefined) ?? 'pending'
}

/** Whether a step needs no more work, because it succeeded or failed. */
export const isFinished = (status: StepStatus): boolean => status === 'done' || status === 'failed'

/**
 * The newest state of every plan, in the order in which the plans were created. Hidden plan blocks are read, too, because hiding only
 * shortens the prompt.
 */
export function plansOf(timeline: Timeline): readonly Plan[] {
  const blocks = blocksOfKind(timeline, 'plan')
  if (blocks.length === 0) return noPlans // a fast path: every round asks for the plans, but most conversations have none
  const newest = new Map<string, Plan>()
  for (const block of blocks) {
    const plan = readPlan(block)
    if (plan) newest.set(plan.plan_id, plan)
  }
  return [...newest.values()]
}

const noPlans: readonly Plan[] = []

export const planById = (timeline: Timeline, planId: string): Plan | undefined =>
  plansOf(timeline).find(({ plan_id }) => plan_id === planId)

/** The plans that are not closed, superseded or complete. The plan that was changed last comes last. */
export function openPlans(timeline: Timeline): readonly Plan[] {
  const open = plansOf(timeline).filter((plan) => planState(plan) === 'open')
  return open.length > 1 ? open.sort(byTime) : open
}

/**
 * The plan that the agent works on. Lines such as `✓ 1. Find sources` in the notes of a round change the steps of this plan. When this plan
 * is closed or complete, no other plan becomes current until the agent activates one.
 */
export const currentPlan = (timeline: Timeline): Plan | undefined => openPlans(timeline).findLast(({ current }) => current === true)

function byTime(a: Plan, b: Plan): number {
  return compare(a.last_ts ?? '', b.last_ts ?? '') || compare(a.plan_id, b.plan_id)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** What the notes of a round change in a plan. For example, the line `✓ 1. Find sources` in the notes sets step 1 to done. */
export interface PlanAcks {
  /** The steps whose status the notes change, sorted by number. */
  readonly changes: readonly { readonly step: number; readonly status: StepStatus }[]
  /** The text of the `react.plan.ack` block. Empty when nothing changed. */
  readonly text: string
  /** The changed plan, for a new block. Undefined when nothing changed. */
  readonly plan?: Plan
  readonly warnings: readonly Notice[]
}

/**
 * Reads lines such as `✓ 1. Find sources` in the `notes` that the model wrote with a tool call. These lines change the status of steps in
 * the current plan before the tool runs. Undefined when there are no notes or no current plan, or when the tool is `react.plan` itself.
 */
export function readRoundAcks(
  timeline: Timeline,
  round: { readonly notes: string; readonly toolId: string },
  moment: { readonly turnId: string; readonly ts: string },
): PlanAcks | undefined {
  const plan = round.toolId === 'react.plan' || round.notes === '' ? undefined : currentPlan(timeline)
  return plan && parseAcks(round.notes, plan, moment)
}

/**
 * The changes that the notes make to the steps of a plan. A line that repeats the current status of a step changes nothing. If two lines
 * name the same step, only the last line is used.
 */
export function parseAcks(notes: string, plan: Plan, { turnId, ts }: { readonly turnId: string; readonly ts: string }): PlanAcks {
  const marks = parseMarks(notes)
  const known = marks.filter(([step]) => step >= 1 && step <= plan.steps.length)
  const unknown = marks.map(([step]) => step).filter((step) => step < 1 || step > plan.steps.length)
  const changes = known.map(([step, status]) => ({ step, status })).filter(({ step, status }) => stepStatus(plan, step) !== status)
  const warnings = unknown.length === 0 ? [] : [unknownStep(unknown, plan)]
  if (changes.length === 0) return { changes, text: '', warnings }
  const merged = { ...plan.status, ...Object.fromEntries(changes.map((change) => [String(change.step), change.status])) }
  const status = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== 'pending')) // pending is the default
  return {
    changes,
    text: changes.map((change) => ackLine(change.step, change.status, plan.steps[change.step - 1] ?? '')).join('\n'),
    plan: { ...plan, status, last_ts: ts, last_turn_id: turnId, last_ack_ts: ts, last_ack_turn_id: turnId },
    warnings,
  }
}

const statusOfMark: Readonly<Record<string, StepStatus>> = {
  '✓': 'done',
  '✗': 'failed',
  '…': 'in_progress',
  '...': 'in_progress',
  '□': 'pending',
}

/** Matches a sign for a status and a step number at the start of a line: `✓ [1] step`, `✗ 2. step`, `… 3: step`, `□ 4) step`, `... 5`. */
const markedLine = /^\s*(✓|✗|…|□|\.\.\.)\uFE0F?\s*(?:\[\s*(\d+)\s*\]|(\d+)(?=[.:)\s]|$))/u

/** The number and the new status of each step that the notes name with a sign, sorted by number. */
function parseMarks(notes: string): readonly (readonly [number, StepStatus])[] {
  const marks = new Map<number, StepStatus>()
  for (const line of notes.split('\n')) {
    const [, mark, bracketed, bare] = markedLine.exec(line) ?? []
    const status = mark === undefined ? undefined : statusOfMark[mark]
    if (status !== undefined) marks.set(Number((bracketed ?? bare)?.slice(0, 9)), status)
  }
  return [...marks].sort(([a], [b]) => a - b)
}

function ackLine(step: number, status: StepStatus, label: string): string {
  return `${stepMarks[status]} ${step}. ${label}${status === 'in_progress' ? ' — in progress' : ''}`
}

function unknownStep(steps: readonly number[], plan: Plan): Notice {
  const count = plan.steps.length
  return warning(
    'plan_ack_unknown_step',
    `The notes mark step ${steps.slice(0, 8).join(', ')}, but the current plan has steps 1 to ${count}. The mark was ignored, everything else in this round was done. Mark only steps that [OPEN PLANS] lists for the current plan.`,
    { plan_id: plan.plan_id, steps: steps.slice(0, 8), step_count: count },
  )
}

/**
 * The two blocks that record progress: one tells the user which steps changed, the other is the new state of the plan. Empty when no step
 * has changed.
 */
export function ackDrafts({ turnId, ts, iteration }: BlockOrigin, { plan, text }: PlanAcks): readonly Draft[] {
  if (!plan) return []
  return [planAckBlock(turnId, ts, { iteration, text, planId: plan.plan_id }), planBlock(turnId, ts, plan, iteration)]
}
