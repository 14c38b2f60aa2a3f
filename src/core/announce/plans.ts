import type { Plan } from '../block/plan.ts'
import { latestPlanPath } from '../path/build.ts'
import { stepMark } from '../render/blocks/plan.ts'
import type { Caps } from '../render/caps.ts'
import { joinLines, oneLine } from '../render/text.ts'
import type { Section } from './announce.ts'

/** The newest open plans, oldest first. Only the current one can be acknowledged. */
export function plansSection(plans: readonly Plan[], limits: Caps): Section {
  if (plans.length === 0) return noPlans
  const open = plans.filter(isOpen).sort(byAge).slice(-limits.openPlans)
  if (open.length === 0) return noPlans
  const current = open.filter((plan) => plan.current === true).at(-1)
  const shown = open.flatMap((plan) => planLines(plan, plan === current, limits))
  return joinLines('[OPEN PLANS]', `  - plans: ${open.length} visible`, ...shown)
}

const noPlans: Section = '[OPEN PLANS]\n  - plans: none'

/** Neither closed, nor replaced, nor through with all its steps. */
function isOpen(plan: Plan): boolean {
  const over = plan.closed_ts !== undefined || plan.superseded_ts !== undefined
  const through = plan.steps.length > 0 && plan.steps.every((_, index) => ['done', 'failed'].includes(plan.status[String(index + 1)] ?? ''))
  return !over && !through
}

function byAge(a: Plan, b: Plan): number {
  return compareText(a.last_ts ?? '', b.last_ts ?? '') || compareText(a.plan_id, b.plan_id)
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function planLines(plan: Plan, current: boolean, limits: Caps): readonly string[] {
  const id = oneLine(plan.plan_id, limits.id)
  const fact = (name: string, value: string | undefined) => (value === undefined ? [] : [`      ${name}=${oneLine(value, limits.id)}`])
  const steps = plan.steps
    .slice(0, limits.planSteps)
    .map((step, index) => oneLine(`${stepMark(plan, index + 1)} [${index + 1}] ${step}`, limits.planStep))
  const more = plan.steps.length - steps.length
  return [
    `    • plan_id=${id}${current ? ' (current)' : ''}`,
    `      snapshot_ref=${latestPlanPath(id)}`,
    ...fact('created_turn', plan.origin_turn_id),
    ...fact('created_ts', plan.created_ts),
    ...fact('last_update_turn', plan.last_turn_id),
    ...fact('last_update_ts', plan.last_ts),
    ...steps.map((step) => `      ${step}`),
    ...(more > 0 ? [`      … ${more} more steps`] : []),
  ]
}
