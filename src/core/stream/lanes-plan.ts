import type { JsonValue } from './json/event.ts'

/** The title for each mode of a `react.plan` call. */
const planTitles: Readonly<Record<string, string>> = {
  new: 'New Plan',
  activate: 'Activated Plan',
  replace: 'Replaced Plan',
  close: 'Closed Plan',
}

/** The text that shows a `react.plan` call to the user. Undefined when the mode is invalid, because such a call is rejected. */
export function planCard(params: JsonValue | undefined, notes: string): string | undefined {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return undefined
  const { mode, plan_id: planId, steps } = params as { readonly [key: string]: JsonValue }
  const name = typeof mode === 'string' ? mode.trim().toLowerCase() : ''
  if (!Object.hasOwn(planTitles, name)) return undefined
  const labels = Array.isArray(steps) ? steps.map(labelOf).filter((label) => label !== '') : []
  const note = firstLine(notes)
  const verb = name === 'close' ? 'Close' : 'Activate'
  const headline = note || labels[0] || `${verb} plan \`${typeof planId === 'string' ? planId : ''}\`.`
  return [`• ${planTitles[name]}`, `└ ${headline}`, ...labels.map((label) => `  □ ${label}`)].join('\n')
}

function firstLine(text: string): string {
  return (
    text
      .split('\n')
      .map((line) => line.trim())
      .find((line) => line !== '') ?? ''
  )
}

/** The label of a step. A step is a string, or in older plans an object with a `label`. */
function labelOf(step: JsonValue): string {
  if (typeof step === 'string') return firstLine(step)
  const label = typeof step === 'object' && step !== null && 'label' in step ? step.label : ''
  return typeof label === 'string' ? firstLine(label) : ''
}
