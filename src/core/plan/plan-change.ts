import type { Plan } from '../block/plan.ts'
import type { Notice } from '../block/round.ts'
import { snippet, violation } from '../decision/violations.ts'
import type { Json, JsonObject } from '../json.ts'
import { latestPlanPath } from '../path/build.ts'
import type { Timeline } from '../timeline/timeline.ts'
import { currentPlan, openPlans, planById, planState } from './plans.ts'

/** The turn and the time of a `react.plan` call, and the id for a new plan. */
export interface PlanMoment {
  readonly turnId: string
  /** The time of the call. Several calls of one turn need different times, because plans are sorted by the time of their last change. */
  readonly ts: string
  /** The id of the new plan, if the call creates one. */
  readonly newId: string
}

export type PlanMode = 'new' | 'activate' | 'replace' | 'close'

/** The effect of a `react.plan` call, or a notice about the rule that the call broke. */
export type PlanChange =
  | {
      readonly ok: true
      readonly mode: PlanMode
      /** The new states of all changed plans. For each of them a block is appended, in this order. */
      readonly snapshots: readonly Plan[]
      /** The id of the plan that the call created, activated or closed. For the mode `replace`, this is the new plan. */
      readonly planId: string
      /** The plan that the call names in `plan_id`. The call activates, replaces or closes it. Undefined for the mode `new`. */
      readonly targetPlanId?: string
    }
  | { readonly ok: false; readonly violation: Notice }

const modes: readonly PlanMode[] = ['new', 'activate', 'replace', 'close']
const maxSteps = 50
const maxStepLength = 400

export const makePlanId = (turnId: string, random: string): string => `plan:${turnId}:${random}`

/**
 * Determines the effect of a `react.plan` call. `params` are the parameters as the model wrote them, not validated. The function never
 * throws.
 */
export function changePlan(timeline: Timeline, params: JsonObject, moment: PlanMoment): PlanChange {
  const mode = typeof params.mode === 'string' ? params.mode.trim().toLowerCase() : ''
  switch (mode) {
    case 'new':
      return planNew(timeline, params.steps, moment)
    case 'activate':
      return planActivate(timeline, params.plan_id, moment)
    case 'replace':
      return planReplace(timeline, params.plan_id, params.steps, moment)
    case 'close':
      return planClose(timeline, params.plan_id, moment)
    default:
      return refuse('plan_mode', `react.plan has no mode ${mode === '' ? '(none was given)' : `"${snippet(mode)}"`}.`, {
        next: `Call react.plan again with mode ${modes.map((name) => `"${name}"`).join(', ')}.`,
        extra: { mode: snippet(mode), allowed: modes },
      })
  }
}

function planNew(timeline: Timeline, steps: Json | undefined, moment: PlanMoment): PlanChange {
  const labels = parseSteps(steps)
  if (labels === undefined) return badSteps('new')
  const previous = currentPlan(timeline)
  const snapshots = [...(previous ? [demoted(previous, moment)] : []), created(labels, moment)]
  return { ok: true, mode: 'new', snapshots, planId: moment.newId }
}

function planActivate(timeline: Timeline, planId: Json | undefined, moment: PlanMoment): PlanChange {
  const result = findTarget(timeline, planId, 'activate')
  if (!result.ok) return result
  const { target } = result
  const snapshots = [...otherCurrent(timeline, target, moment), { ...touched(target, moment), current: true }]
  return { ok: true, mode: 'activate', snapshots, planId: target.plan_id, targetPlanId: target.plan_id }
}

function planReplace(timeline: Timeline, planId: Json | undefined, steps: Json | undefined, moment: PlanMoment): PlanChange {
  const result = findTarget(timeline, planId, 'replace')
  if (!result.ok) return result
  const labels = parseSteps(steps)
  if (labels === undefined) return badSteps('replace')
  const { target } = result
  const superseded = {
    ...demoted(target, moment),
    superseded_ts: moment.ts,
    superseded_turn_id: moment.turnId,
    superseded_by_plan_id: moment.newId,
  }
  const snapshots = [superseded, ...otherCurrent(timeline, target, moment), created(labels, moment)]
  return { ok: true, mode: 'replace', snapshots, planId: moment.newId, targetPlanId: target.plan_id }
}

function planClose(timeline: Timeline, planId: Json | undefined, moment: PlanMoment): PlanChange {
  const result = findTarget(timeline, planId, 'close')
  if (!result.ok) return result
  const { target } = result
  const closed = { ...demoted(target, moment), closed_ts: moment.ts, closed_turn_id: moment.turnId }
  return { ok: true, mode: 'close', snapshots: [closed], planId: target.plan_id, targetPlanId: target.plan_id }
}

const touched = (plan: Plan, { turnId, ts }: PlanMoment): Plan => ({ ...plan, last_ts: ts, last_turn_id: turnId })
const demoted = (plan: Plan, moment: PlanMoment): Plan => ({ ...touched(plan, moment), current: false })

function otherCurrent(timeline: Timeline, target: Plan, moment: PlanMoment): readonly Plan[] {
  const previous = currentPlan(timeline)
  return previous && previous.plan_id !== target.plan_id ? [demoted(previous, moment)] : []
}

function created(steps: string[], { turnId, ts, newId }: PlanMoment): Plan {
  return { plan_id: newId, steps, status: {}, current: true, created_ts: ts, last_ts: ts, origin_turn_id: turnId, last_turn_id: turnId }
}

/**
 * The labels of the steps that the model sent. A step is a string, or an object with a `label`, which is an older form. Steps with a blank
 * label are left out. Undefined when a step has another type, when all labels are blank or when there are too many steps.
 */
function parseSteps(steps: Json | undefined): string[] | undefined {
  if (!Array.isArray(steps) || steps.length > maxSteps) return undefined
  const labels = (steps as readonly Json[]).map(labelOf)
  if (labels.includes(undefined)) return undefined
  const nonBlank = labels.filter((label): label is string => label !== undefined && label !== '')
  return nonBlank.length === 0 ? undefined : nonBlank
}

function labelOf(step: Json): string | undefined {
  if (typeof step === 'string') return snippet(step, maxStepLength)
  const label = typeof step === 'object' && step !== null && 'label' in step ? step.label : undefined
  return typeof label === 'string' ? snippet(label, maxStepLength) : undefined
}

type Target = { readonly ok: true; readonly target: Plan } | (PlanChange & { readonly ok: false })

function findTarget(timeline: Timeline, planId: Json | undefined, mode: PlanMode): Target {
  const prefix = latestPlanPath('')
  const given = typeof planId === 'string' ? planId.trim() : ''
  // The announce shows the id and the path of a plan, so the model may send the path instead of the id.
  const id = given.startsWith(prefix) ? given.slice(prefix.length) : given
  const open = openPlans(timeline).map(({ plan_id }) => plan_id)
  const choice = open.length === 0 ? 'There is no open plan: use mode "new".' : `Open plans: ${open.slice(-8).join(', ')}.`
  if (id === '') {
    return refuse('plan_target_required', `react.plan with mode "${mode}" needs plan_id.`, {
      next: `Call it again with the plan_id of an open plan. ${choice}`,
      extra: { mode },
    })
  }
  const target = planById(timeline, id)
  if (target && planState(target) === 'open') return { ok: true, target }
  const state = target === undefined ? 'unknown' : planState(target)
  return refuse('plan_target_missing', `The plan "${snippet(id)}" is ${state}: only an open plan can be named with mode "${mode}".`, {
    next: choice,
    extra: { mode, plan_id: snippet(id, 120), state },
  })
}

function badSteps(mode: PlanMode): PlanChange & { readonly ok: false } {
  return refuse('plan_steps', `react.plan with mode "${mode}" needs steps: a list of 1 to ${maxSteps} non-blank strings.`, {
    next: 'Call it again with "steps": ["first step", "second step"].',
    extra: { mode },
  })
}

function refuse(
  code: string,
  problem: string,
  rest: { readonly next: string; readonly extra: { readonly [field: string]: unknown } },
): PlanChange & { readonly ok: false } {
  return { ok: false, violation: violation(code, { problem, effect: 'No plan was changed.', ...rest }) }
}
