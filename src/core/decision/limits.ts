import type { Decision, FinalDecision } from './decision.ts'

/**
 * How often a turn may be put right. Every round ends in exactly one of three ways:
 *
 *   accepted        the action ran                       the row of failures ends
 *   rejected        the response broke a rule            costs a repair
 *   toolRefused     the tool itself found a rule broken  three times the same way cost a repair
 */
export interface RepairCount {
  /** Since the last accepted round. */
  readonly inARow: number
  readonly inTurn: number
  readonly refusal?: { readonly code: string; readonly toolId: string; readonly times: number }
}

export interface RepairLimits {
  readonly inARow: number
  readonly inTurn: number
}

/** `wrap_up` when only the rounds are used up: then the model may still end the turn in its own words. */
export type AfterFailure = 'repair' | 'wrap_up' | 'exit'

export const noRepairs: RepairCount = { inARow: 0, inTurn: 0 }
export const defaultRepairLimits: RepairLimits = { inARow: 2, inTurn: 6 }

/** Same code, same tool, so many times without anything else in between: the model is not listening. */
const refusalsPerRepair = 3

/** No more of them: the turn ends. */
export const repairsExhausted = ({ inARow, inTurn }: RepairCount, limits: RepairLimits = defaultRepairLimits): boolean =>
  inARow > limits.inARow || inTurn > limits.inTurn

export const afterAcceptedRound = (repairs: RepairCount): RepairCount =>
  repairs.inARow === 0 && repairs.refusal === undefined ? repairs : { inARow: 0, inTurn: repairs.inTurn }

/** `remainingRounds` is what is left after this round. */
export function afterRejectedResponse(
  repairs: RepairCount,
  remainingRounds: number,
  limits: RepairLimits = defaultRepairLimits,
): { readonly repairs: RepairCount; readonly next: AfterFailure } {
  const after = { inARow: repairs.inARow + 1, inTurn: repairs.inTurn + 1 }
  if (repairsExhausted(after, limits)) return { repairs: after, next: 'exit' }
  return { repairs: after, next: remainingRounds > 0 ? 'repair' : 'wrap_up' }
}

export function afterToolRefusal(
  repairs: RepairCount,
  refusal: { readonly code: string; readonly toolId: string },
  remainingRounds: number,
  limits: RepairLimits = defaultRepairLimits,
): { readonly repairs: RepairCount; readonly next: AfterFailure } {
  const same = repairs.refusal?.code === refusal.code && repairs.refusal.toolId === refusal.toolId
  const times = same ? (repairs.refusal?.times ?? 0) + 1 : 1
  if (times === refusalsPerRepair) return afterRejectedResponse({ inARow: repairs.inARow, inTurn: repairs.inTurn }, remainingRounds, limits)
  const counted: RepairCount = { inARow: repairs.inARow, inTurn: repairs.inTurn, refusal: { ...refusal, times } }
  return { repairs: counted, next: remainingRounds > 0 ? 'repair' : 'wrap_up' }
}

/**
 * The answer that the user has already read stands, whatever else the response got wrong: it is never asked for again.
 * Undefined when there is none, or when the stream broke before it was whole. Whether it is the last word is another question:
 * something newer may have come in, and then it is an attempt like any other.
 */
export function salvageAnswer(round: {
  /** What the answer lane of this very round has shown, as the model wrote it. */
  readonly delivered: string | undefined
  readonly violation: { readonly code: string }
  /** The lane was cut off by the output limit. */
  readonly cut: boolean
}): FinalDecision | undefined {
  const { delivered, violation, cut } = round
  if (delivered === undefined || delivered.trim() === '' || violation.code === 'service_interrupted') return undefined
  return { action: 'complete', answer: delivered.trimEnd(), followups: [], truncated: cut }
}

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
