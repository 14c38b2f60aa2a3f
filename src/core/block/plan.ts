import { isObject, parseJson } from '../json.ts'
import { planAckPath, planPath } from '../path/build.ts'
import type { Draft } from './block.ts'
import {
  type FieldCheck,
  type FieldChecks,
  isFlag,
  isListOf,
  isMissingOr,
  isNumber,
  isOneOf,
  isText,
  oncePerBlockOfType,
  readFields,
} from './reader.ts'

export const stepStatuses = ['pending', 'in_progress', 'done', 'failed'] as const
/** The progress of one step of a plan. */
export type StepStatus = (typeof stepStatuses)[number]

/**
 * The text of a plan block: the plan as it was when the block was appended. If several blocks have the same `plan_id`, the newest one holds
 * the current plan. The keys of `status` are the numbers of the steps, from "1". A step without a status is pending.
 */
export interface Plan {
  [field: string]: unknown
  plan_id: string
  steps: string[]
  status: Record<string, StepStatus>
  current?: boolean | undefined
  created_ts?: string | undefined
  last_ts?: string | undefined
  origin_turn_id?: string | undefined
  last_turn_id?: string | undefined
  last_ack_turn_id?: string | undefined
  last_ack_ts?: string | undefined
  closed_ts?: string | undefined
  closed_turn_id?: string | undefined
  superseded_ts?: string | undefined
  superseded_turn_id?: string | undefined
  superseded_by_plan_id?: string | undefined
}

const isStepStatus = isOneOf(...stepStatuses)
const optionalText = isMissingOr(isText)
const isStatusByStep: FieldCheck = (value) => isObject(value) && Object.values(value).every(isStepStatus)

const planChecks: FieldChecks<Plan> = {
  plan_id: isText,
  steps: isListOf(isText),
  status: isStatusByStep,
  current: isMissingOr(isFlag),
  created_ts: optionalText,
  last_ts: optionalText,
  origin_turn_id: optionalText,
  last_turn_id: optionalText,
  last_ack_turn_id: optionalText,
  last_ack_ts: optionalText,
  closed_ts: optionalText,
  closed_turn_id: optionalText,
  superseded_ts: optionalText,
  superseded_turn_id: optionalText,
  superseded_by_plan_id: optionalText,
}

/** A step of a plan in another format. Plans in imported timelines may have this format. */
interface NumberedStep {
  readonly n: number
  readonly label: string
  readonly status?: string
}

const isNumberedStep: FieldCheck = (value) =>
  isObject(value) && isNumber(value.n) && isText(value.label) && (value.status === undefined || isText(value.status))

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
  if (!isObject(payload)) return undefined
  const { steps } = payload
  const isNumbered = Array.isArray(steps) && steps.length > 0 && steps.every(isNumberedStep)
  const plan = isNumbered ? { ...payload, ...fromNumberedSteps(steps as unknown as readonly NumberedStep[]) } : payload
  return readFields(planChecks, { status: {}, ...plan })
})

function fromNumberedSteps(steps: readonly NumberedStep[]): Pick<Plan, 'steps' | 'status'> {
  const ordered = [...steps].sort((a, b) => a.n - b.n)
  const status = ordered.flatMap((step, index) =>
    isStepStatus(step.status) && step.status !== 'pending' ? [[String(index + 1), step.status] as const] : [],
  )
  return { steps: ordered.map(({ label }) => label), status: Object.fromEntries(status) as Plan['status'] }
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
