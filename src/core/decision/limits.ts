import type { FinalDecision } from './decision.ts'

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
