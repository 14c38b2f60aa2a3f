import type { Decision, FinalDecision } from './decision.ts'

/**
 * Counts the repairs of a turn. A repair is another try after a failed round. Every round ends in one of three ways:
 *
 *   accepted round       the action ran                        `consecutive` starts again at 0
 *   rejected response    the response broke a rule             costs one repair
 *   tool refusal         the tool refused its call             every third identical refusal in a row costs one repair
 */
export interface RepairCount {
  /** The repairs since the last accepted round. */
  readonly consecutive: number
  /** The repairs in the whole turn. */
  readonly total: number
  /** The last tool refusal, and how many times it came in a row. */
  readonly refusal?: { readonly code: string; readonly toolId: string; readonly times: number }
}

interface AfterFailure {
  readonly repairs: RepairCount
  /**
   * How the turn goes on. `wrap_up` means that no rounds are left, but the model may still end the turn in its own words. `exit` means
   * that a fixed answer ends the turn.
   */
  readonly next: 'repair' | 'wrap_up' | 'exit'
}

const maxConsecutiveRepairs = 2
const maxRepairs = 6
const refusalsPerRepair = 3

export const noRepairs: RepairCount = { consecutive: 0, total: 0 }

/** True when the turn has to end because it was repaired too often. */
export const repairsExhausted = ({ consecutive, total }: RepairCount): boolean => consecutive > maxConsecutiveRepairs || total > maxRepairs

/** The count after a round whose action ran. */
export const afterAcceptedRound = (repairs: RepairCount): RepairCount =>
  repairs.consecutive === 0 && repairs.refusal === undefined ? repairs : { consecutive: 0, total: repairs.total }

/** The count after a response that broke a rule, and how the turn goes on. `remainingRounds` does not include the failed round. */
export function afterRejectedResponse(repairs: RepairCount, remainingRounds: number): AfterFailure {
  const after = { consecutive: repairs.consecutive + 1, total: repairs.total + 1 }
  return { repairs: after, next: repairsExhausted(after) ? 'exit' : nextStep(remainingRounds) }
}

/** The count after a tool refused its call, and how the turn goes on. Every third identical refusal in a row costs a repair. */
export function afterToolRefusal(
  repairs: RepairCount,
  refusal: { readonly code: string; readonly toolId: string },
  remainingRounds: number,
): AfterFailure {
  const { consecutive, total, refusal: previous } = repairs
  const repeated = previous?.code === refusal.code && previous.toolId === refusal.toolId
  const times = repeated ? previous.times + 1 : 1
  if (times === refusalsPerRepair) return afterRejectedResponse({ consecutive, total }, remainingRounds)
  return { repairs: { consecutive, total, refusal: { ...refusal, times } }, next: nextStep(remainingRounds) }
}

const nextStep = (remainingRounds: number) => (remainingRounds > 0 ? 'repair' : 'wrap_up')

/** The last rounds of a turn that has to end. If the model does not answer in these rounds, a fixed answer follows. */
export interface WrapUp {
  readonly rounds: number
  /** Ids of the tools that may still be called. */
  readonly tools: readonly string[]
  readonly maxTokens: number
}

const minTokens = 512

/** The wrap-up after a budget is used up. The model is called once and may only answer. */
export const budgetWrapUp: WrapUp = { rounds: 1, tools: [], maxTokens: 3_000 }

/** The wrap-up after the user asked the agent to finish. The agent may first write down and order its results. */
export const steerWrapUp: WrapUp = { rounds: 2, tools: ['react.write', 'react.patch', 'react.plan', 'react.hide'], maxTokens: 3_000 }

/** A wrap-up with the given limits. It has at least one round and 512 tokens. */
export function openWrapUp(kind: WrapUp, settings: { readonly rounds?: number; readonly maxTokens?: number } = {}): WrapUp {
  const { rounds = kind.rounds, maxTokens = kind.maxTokens } = settings
  return { ...kind, rounds: Math.max(1, Math.floor(rounds) || 1), maxTokens: Math.max(minTokens, Math.floor(maxTokens) || 0) }
}

export type WrapUpVerdict =
  | { readonly verdict: 'answer'; readonly decision: FinalDecision }
  /** The call may run. `wrapUp` is what remains after it. When no round remains, a fixed answer ends the turn. */
  | { readonly verdict: 'call'; readonly wrapUp: WrapUp }
  /** The response is neither an answer nor an allowed call. A fixed answer ends the turn, without a repair. */
  | { readonly verdict: 'stop' }

/** Decides what follows one response of a wrap-up. `decision` is undefined when the response broke a rule. */
export function checkWrapUp(wrapUp: WrapUp, decision: Decision | undefined): WrapUpVerdict {
  if (decision === undefined) return { verdict: 'stop' }
  if (decision.action !== 'call_tool') return { verdict: 'answer', decision }
  if (wrapUp.rounds <= 0 || !wrapUp.tools.includes(decision.toolId)) return { verdict: 'stop' }
  return { verdict: 'call', wrapUp: spendRound(wrapUp) }
}

export const spendRound = (wrapUp: WrapUp): WrapUp => ({ ...wrapUp, rounds: Math.max(0, wrapUp.rounds - 1) })
