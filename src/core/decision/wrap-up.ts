import type { Decision, FinalDecision } from './decision.ts'

/** The end of a turn under supervision: few rounds, few tools, and then the runtime has the last word. */
export interface WrapUp {
  readonly rounds: number
  readonly tools: readonly string[]
  readonly maxTokens: number
}

const minTokens = 512

/** A budget is used up: one call that may only answer. */
export const budgetWrapUp: WrapUp = { rounds: 1, tools: [], maxTokens: 3_000 }

/** The user asked to come to an end: what is at hand may be written down and put in order first. */
export const steerWrapUp: WrapUp = { rounds: 2, tools: ['react.write', 'react.patch', 'react.plan', 'react.hide'], maxTokens: 3_000 }

export function openWrapUp(kind: WrapUp, settings: { readonly rounds?: number; readonly maxTokens?: number } = {}): WrapUp {
  const { rounds = kind.rounds, maxTokens = kind.maxTokens } = settings
  return { ...kind, rounds: Math.max(1, Math.floor(rounds) || 1), maxTokens: Math.max(minTokens, Math.floor(maxTokens) || 0) }
}

export type WrapUpVerdict =
  | { readonly verdict: 'answer'; readonly decision: FinalDecision }
  /** The call may run, and this is what is left afterwards. With no rounds left the fixed words follow it, and no other call of the model. */
  | { readonly verdict: 'call'; readonly wrapUp: WrapUp }
  /** Neither an answer nor an allowed call: the fixed words end the turn. Nothing is repaired. */
  | { readonly verdict: 'stop' }

/** Judges one response of a wrap-up; `undefined` stands for a response that broke a rule. */
export function checkWrapUp(wrapUp: WrapUp, decision: Decision | undefined): WrapUpVerdict {
  if (decision === undefined) return { verdict: 'stop' }
  if (decision.action !== 'call_tool') return { verdict: 'answer', decision }
  if (wrapUp.rounds <= 0 || !wrapUp.tools.includes(decision.toolId)) return { verdict: 'stop' }
  return { verdict: 'call', wrapUp: spendRound(wrapUp) }
}

export const spendRound = (wrapUp: WrapUp): WrapUp => ({ ...wrapUp, rounds: Math.max(0, wrapUp.rounds - 1) })
