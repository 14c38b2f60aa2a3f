import { z } from 'zod'
import { parseJson } from '../json.ts'
import { planAckPath, planPath } from '../path/build.ts'
import type { Draft } from './block.ts'
import { oncePerBlockOfType } from './reader.ts'

export const StepStatus = z.enum(['pending', 'in_progress', 'done', 'failed'])
export type StepStatus = z.infer<typeof StepStatus>

/**
 * The text of a plan block: the plan as it was when the block was appended. If several blocks have the same `plan_id`, the newest one holds
 * the current plan. The keys of `status` are the numbers of the steps, from "1". A step without a status is pending.
 */
export const Plan = z.looseObject({
  plan_id: z.string(),
  steps: z.array(z.string()),
  status: z.record(z.string(), StepStatus).default({}),
  current: z.boolean().optional(),
  created_ts: z.string().optional(),
  last_ts: z.string().optional(),
  origin_turn_id: z.string().optional(),
  last_turn_id: z.string().optional(),
  last_ack_turn_id: z.string().optional(),
  last_ack_ts: z.string().optional(),
  closed_ts: z.string().optional(),
  closed_turn_id: z.string().optional(),
  superseded_ts: z.string().optional(),
  superseded_turn_id: z.string().optional(),
  superseded_by_plan_id: z.string().optional(),
})
export type Plan = z.infer<typeof Plan>

/** Another stored form of a plan, which occurs in imported timelines. Each step is an object with its number and status. */
const NumberedSteps = z.looseObject({
  plan_id: z.string(),
  steps: z.array(z.looseObject({ n: z.number(), label: z.string(), status: z.string().optional() })),
})

export function planBlock(turnId: string, ts: string, plan: Plan, iteration?: number): Draft<'react.plan'> {
  const { steps: _steps, status: _status, ...scalars } = plan
  return {
    type: 'react.plan',
    author: 'react',
    turn_id: turnId,
    ts,
    mime: 'application/json',
    path: planPath(turnId, plan.plan_id),
    text: JSON.stringify(plan),
    meta: iteration === undefined ? scalars : { ...scalars, iteration },
  }
}

/** The plan in a plan block. Undefined for other blocks and when the text is not a plan. */
export const readPlan = oncePerBlockOfType(['react.plan', 'react.plan.preserved'], (block): Plan | undefined => {
  const payload = parseJson(block.text)
  const plain = Plan.safeParse(payload)
  if (plain.success) return plain.data
  const numbered = NumberedSteps.safeParse(payload)
  return numbered.success ? fromNumberedSteps(numbered.data) : undefined
})

function fromNumberedSteps({ steps, ...rest }: z.infer<typeof NumberedSteps>): Plan | undefined {
  const ordered = [...steps].sort((a, b) => a.n - b.n)
  const status = ordered.flatMap((step, index) => {
    const parsed = StepStatus.safeParse(step.status)
    return parsed.success && parsed.data !== 'pending' ? [[String(index + 1), parsed.data]] : []
  })
  const plan = Plan.safeParse({ ...rest, steps: ordered.map(({ label }) => label), status: Object.fromEntries(status) })
  return plan.success ? plan.data : undefined
}

/** A block that tells the user which steps of the plan changed in this round. */
export function planAckBlock(
  turnId: string,
  ts: string,
  ack: { readonly iteration: number; readonly text: string; readonly planId: string },
): Draft<'react.plan.ack'> {
  return {
    type: 'react.plan.ack',
    author: 'react',
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: planAckPath(turnId, ack.iteration),
    text: ack.text,
    meta: { iteration: ack.iteration, plan_id: ack.planId },
  }
}
