import type { AnnouncePlan } from '../prompt/sections.ts'
import type { Situation } from '../prompt/situation.ts'
import type { Decision } from './decision.ts'

/**
 * Whether a tool can be called now. The tool must exist, and rounds must be left. The announce must not say that this is the last call of
 * the turn. At most 12 calls are made for one message.
 */
export const canCall = ({ tools, announce, calls }: Situation, toolId: string): boolean =>
  tools.has(toolId) && !announce.lastCall && announce.roundsLeft > 0 && calls.length < 12

export const wasCalled = ({ calls }: Situation, toolId: string): boolean => calls.some((call) => call.toolId === toolId)

/**
 * The decision to make a plan. Undefined when there are fewer than two steps, when a tool was already called, or when too few rounds are
 * left.
 */
export function makePlan(situation: Situation, steps: readonly string[]): Decision | undefined {
  const { calls, announce } = situation
  if (steps.length < 2 || calls.length > 0 || announce.roundsLeft < steps.length + 2 || !canCall(situation, 'react.plan')) return undefined
  return {
    kind: 'call',
    thinking: `This takes ${steps.length} steps, so I make a plan first.`,
    notes: 'I plan the steps, then work through them.',
    toolId: 'react.plan',
    params: { mode: 'new', steps },
  }
}

/** The decision to close the plan of this turn. Undefined when this turn has no open plan. */
export function closePlan(situation: Situation): Decision | undefined {
  const { plan } = situation.announce
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

/**
 * The notes for a tool call. They list the steps of the plan up to the step that starts with `verb`, such as `Read`. The steps before it
 * are marked as done. Without such a step, the notes are the text `otherwise`.
 */
export function planProgress(plan: AnnouncePlan | undefined, verb: string, otherwise: string): string {
  const current = plan?.steps.findIndex(({ text }) => text.startsWith(verb)) ?? -1
  if (!plan || current < 0) return otherwise
  const before = plan.steps.slice(0, current).map(({ text }, index) => `✓ [${index + 1}] ${text}`)
  return [...before, `… [${current + 1}] ${plan.steps[current]?.text}`].join('\n')
}
