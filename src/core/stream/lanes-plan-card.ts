import type { JsonValue } from './json-event.ts'

const titles: Readonly<Record<string, string>> = {
  new: 'New Plan',
  activate: 'Activated Plan',
  replace: 'Replaced Plan',
  close: 'Closed Plan',
}

/** What a person sees of a `react.plan` call; undefined when the call makes no sense and will be refused. */
export function planCard(params: JsonValue | undefined, notes: string): string | undefined {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return undefined
  const { mode, plan_id: planId, steps } = params as { readonly [key: string]: JsonValue }
  const name = typeof mode === 'string' ? mode.trim().toLowerCase() : ''
  if (!Object.hasOwn(titles, name)) return undefined
  const labels = Array.isArray(steps) ? steps.map(labelOf).filter((label) => label !== '') : []
  const note = firstLine(notes)
  const verb = name === 'close' ? 'Close' : 'Activate'
  const headline = note || labels[0] || `${verb} plan \`${typeof planId === 'string' ? planId : ''}\`.`
  return [`• ${titles[name]}`, `└ ${headline}`, ...labels.map((label) => `  □ ${label}`)].join('\n')
}

function firstLine(text: string): string {
  return (
    text
      .split('\n')
      .map((line) => line.trim())
      .find((line) => line !== '') ?? ''
  )
}

/** A step is a string, or an object with a label as older plans have it. */
function labelOf(step: JsonValue): string {
  if (typeof step === 'string') return firstLine(step)
  const label = typeof step === 'object' && step !== null && 'label' in step ? step.label : ''
  return typeof label === 'string' ? firstLine(label) : ''
}
