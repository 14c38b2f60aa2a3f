import type { Block } from '../../block/block.ts'
import { type Plan, readPlan, type StepStatus } from '../../block/plan.ts'
import { joinLines, oneLine, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'

/** Renders `react.plan` as a checklist. A plan that has not changed since it was last shown renders to no parts. */
export function renderPlan(block: Block, { caps, repeatsPlan }: RenderContext): readonly Part[] {
  const plan = readPlan(block)
  if (!plan || repeatsPlan) return []
  const steps = plan.steps.slice(0, caps.planSteps).map((step, index) => {
    const mark = `${stepMark(plan, index + 1)} ${index + 1}) `
    return mark + oneLine(step, caps.planStep - mark.length - 1)
  })
  const more = plan.steps.length - steps.length
  return [
    textPart(joinLines('[REACT.PLAN]', `id=${oneLine(plan.plan_id, caps.id)}`, ...steps, more > 0 ? `... ${more} more steps` : undefined)),
  ]
}

/** The sign before a step of a plan. */
export const stepMarks: { readonly [S in StepStatus]: string } = { done: '✓', failed: '✗', in_progress: '…', pending: '□' }

export const stepMark = (plan: Plan, number: number): string => stepMarks[plan.status[String(number)] ?? 'pending']

/** The steps of a plan and their signs, as one text. If two blocks of a plan have equal texts, they look the same in the prompt. */
export const planStates = (plan: Plan): string => JSON.stringify(plan.steps.map((step, index) => [stepMark(plan, index + 1), step]))
