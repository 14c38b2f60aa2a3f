import type { Plan, StepStatus } from '../block/plan.ts'
import type { Notice } from '../block/tool.ts'
import { warning } from '../decision/violations.ts'
import type { Timeline } from '../timeline/timeline.ts'
import { currentPlan, stepStatus } from './plans.ts'

/** What the notes of a round said about the steps of the current plan. */
export interface PlanAcks {
  /** Steps whose status differs from the snapshot's, by number. */
  readonly changes: readonly { readonly step: number; readonly status: StepStatus }[]
  /** For `react.plan.ack`; empty when nothing changed. */
  readonly text: string
  /** The next snapshot; absent when nothing changed. */
  readonly plan?: Plan
  readonly warnings: readonly Notice[]
}

export const stepMarks: { readonly [S in StepStatus]: string } = { done: '✓', failed: '✗', in_progress: '…', pending: '□' }

const statusOfMark: Readonly<Record<string, StepStatus>> = {
  '✓': 'done',
  '✗': 'failed',
  '…': 'in_progress',
  '...': 'in_progress',
  '□': 'pending',
}

/** `✓ [1] step`, `✗ 2. step`, `… 3: step`, `□ 4) step`, `... 5`: a mark at the start of a line, and a number that ends there. */
const markedLine = /^\s*(✓|✗|…|□|\.\.\.)\uFE0F?\s*(?:\[\s*(\d+)\s*\]|(\d+)(?=[.:)\s]|$))/u

/**
 * What a round acknowledges: its notes speak of the current plan unless it changes plans itself. Undefined when there is
 * nothing to speak of. To be applied before the tool runs, and only in a round that was accepted.
 */
export function readRoundAcks(
  timeline: Timeline,
  round: { readonly notes: string; readonly toolId: string },
  moment: { readonly turnId: string; readonly ts: string },
): PlanAcks | undefined {
  const plan = round.toolId === 'react.plan' || round.notes === '' ? undefined : currentPlan(timeline)
  return plan && parseAcks(round.notes, plan, moment)
}

/** Only what differs from the snapshot is a change: saying again what is known acknowledges nothing. Of two marks the last counts. */
export function parseAcks(notes: string, plan: Plan, { turnId, ts }: { readonly turnId: string; readonly ts: string }): PlanAcks {
  const said = marksIn(notes)
  const known = said.filter(([step]) => step >= 1 && step <= plan.steps.length)
  const unknown = said.map(([step]) => step).filter((step) => step < 1 || step > plan.steps.length)
  const changes = known.map(([step, status]) => ({ step, status })).filter(({ step, status }) => stepStatus(plan, step) !== status)
  const warnings = unknown.length === 0 ? [] : [unknownStep(unknown, plan)]
  if (changes.length === 0) return { changes, text: '', warnings }
  const merged = { ...plan.status, ...Object.fromEntries(changes.map((change) => [String(change.step), change.status])) }
  const status = Object.fromEntries(Object.entries(merged).filter(([, now]) => now !== 'pending')) // an absent status is pending
  return {
    changes,
    text: changes.map(({ step, status: now }) => ackLine(step, now, plan.steps[step - 1] ?? '')).join('\n'),
    plan: { ...plan, status, last_ts: ts, last_turn_id: turnId, last_ack_ts: ts, last_ack_turn_id: turnId },
    warnings,
  }
}

/** The last mark of every step, by number. */
function marksIn(notes: string): readonly (readonly [number, StepStatus])[] {
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
