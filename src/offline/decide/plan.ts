import type { AnnouncePlan } from '../prompt/sections.ts'
import type { Situation } from '../prompt/situation.ts'
import type { Decision } from './decision.ts'

/** May this tool be called now? Not in the last call of a turn, not when rounds run out, not where it does not exist. */
export const canCall = ({ tools, announced, calls }: Situation, toolId: string): boolean =>
  tools.has(toolId) && !announced.lastCall && announced.roundsLeft > 0 && calls.length < 12

export const wasCalled = ({ calls }: Situation, toolId: string): boolean => calls.some((call) => call.toolId === toolId)

/** Work of several steps is planned where everyone can see it. */
export function makePlan(situation: Situation, steps: readonly string[]): Decision | undefined {
  const { calls, announced } = situation
  if (steps.length < 2 || calls.length > 0 || announced.roundsLeft < steps.length + 2 || !canCall(situation, 'react.plan')) return undefined
  return {
    kind: 'call',
    thinking: `This takes ${steps.length} steps, so I make a plan first.`,
    notes: 'I plan the steps, then work through them.',
    toolId: 'react.plan',
    params: { mode: 'new', steps },
  }
}

/** A plan of this turn does not outlive it. */
export function closePlan(situation: Situation): Decision | undefined {
  const { plan } = situation.announced
  const planned = situation.calls.some(({ toolId, params }) => toolId === 'react.plan' && params?.mode === 'new')
  const closed = situation.calls.some(({ toolId, params }) => toolId === 'react.plan' && params?.mode === 'close')
  if (!plan || !planned || closed || !canCall(situation, 'react.plan')) return undefined
  const done = plan.steps.map(({ text }, index) => `✓ [${index + 1}] ${text}`).join('\n')
  return {
    kind: 'call',
    thinking: 'Every step of the plan is done; I close it and answer.',
    notes: done,
    toolId: 'react.plan',
    params: { mode: 'close', plan_id: plan.id },
  }
}

/** The words said with a call: how far the plan is, or just what is done. */
export function planProgress(plan: AnnouncePlan | undefined, verb: string, otherwise: string): string {
  const at = plan?.steps.findIndex(({ text }) => text.startsWith(verb)) ?? -1
  if (!plan || at < 0) return otherwise
  const before = plan.steps.slice(0, at).map(({ text }, index) => `✓ [${index + 1}] ${text}`)
  return [...before, `… [${at + 1}] ${plan.steps[at]?.text}`].join('\n')
}
