import { callsOf, type Decision, type FinalDecision } from './decision/decision.ts'
import { isObject } from './json.ts'
import type { InboxEvent } from './timeline/inbox-event.ts'

/** The limits of one turn, which the user of the SDK sets. */
export interface BudgetSettings {
  /**
   * The greatest number of decisions in the turn, including decisions that the model had to repeat because its response broke a rule. The
   * default is 15.
   */
  readonly maxRounds?: number
  /**
   * The greatest number of extra rounds that followups and other events together may add to the turn. Default: the value of `maxRounds`.
   */
  readonly creditCap?: number
  /** The greatest duration of the whole turn, in milliseconds. */
  readonly maxMilliseconds?: number
  /** The greatest amount of money that the turn may cost. It is in the same currency as the amounts that are passed to `spend`. */
  readonly maxMoney?: number
  /** The greatest number of tokens of all model calls of the turn. */
  readonly maxTokens?: number
}

/** The limits of a turn, and what the turn has used so far. A budget is immutable, so `spend` and `grantExtraRounds` return a new one. */
export interface Budget {
  readonly baseRounds: number
  readonly maxExtraRounds: number
  readonly grantedRounds: number
  readonly grantedEventIds: readonly string[]
  /** The number of rounds used so far. */
  readonly rounds: number
  /** The start of the turn, in epoch milliseconds. */
  readonly startedAt: number
  readonly maxMilliseconds?: number
  readonly maxMoney?: number
  readonly maxTokens?: number
  /** The money used so far. */
  readonly money: number
  /** The tokens used so far, if they are limited. */
  readonly tokens?: number
  /** True when the turn called a model whose price is not known. */
  readonly unpriced?: boolean
}

/**
 * What the turn may do next.
 * - `go`: the model may make another decision.
 * - `wrap_up:rounds`, `wrap_up:time`, `wrap_up:money`, `wrap_up:tokens`: the turn has reached the named limit, so it must wrap up.
 * - `stop:unpriced`: the turn has a cost limit, but it called a model whose price is not known. It must end without another call.
 */
export type BudgetCheck = 'go' | 'wrap_up:rounds' | 'wrap_up:time' | 'wrap_up:money' | 'wrap_up:tokens' | 'stop:unpriced'

const defaultRounds = 15
const defaultExtraRounds = 1

/** The budget at the start of a turn. `startedAt` is in epoch milliseconds. */
export function createBudget(settings: BudgetSettings, startedAt: number): Budget {
  const baseRounds = positiveInteger(settings.maxRounds) ?? defaultRounds
  const { maxMilliseconds, maxMoney, maxTokens } = settings
  return {
    baseRounds,
    maxExtraRounds: settings.creditCap === undefined ? baseRounds : Math.max(0, Math.floor(settings.creditCap) || 0),
    grantedRounds: 0,
    grantedEventIds: [],
    rounds: 0,
    startedAt,
    ...(maxMilliseconds !== undefined && { maxMilliseconds }),
    ...(maxMoney !== undefined && { maxMoney }),
    ...(maxTokens !== undefined && { maxTokens }),
    money: 0,
  }
}

/** Adds a cost to the used amounts. A decision costs one round and money. A call for a wrap-up costs only money. */
export function spend(budget: Budget, cost: { readonly rounds?: number; readonly money?: number }): Budget {
  return { ...budget, rounds: budget.rounds + (cost.rounds ?? 0), money: budget.money + (cost.money ?? 0) }
}

/** Adds rounds for an event that needs an answer. If the same event arrives twice, its rounds are added only once. */
export function grantExtraRounds(budget: Budget, eventId: string, amount: number = defaultExtraRounds): Budget {
  const rounds = positiveInteger(amount)
  if (rounds === undefined || budget.grantedEventIds.includes(eventId)) return budget
  return { ...budget, grantedRounds: budget.grantedRounds + rounds, grantedEventIds: [...budget.grantedEventIds, eventId] }
}

/**
 * The number of extra rounds that an event adds. Followups add rounds, and so do external events with `reactive: true`. Each of these
 * events adds `iteration_credit` rounds, or one round if this field is missing. All other events add no rounds. Each field may be in
 * `payload.event` or in `payload`. If a field is in both, its value in `payload.event` is used.
 */
export function extraRoundsOf({ kind, payload }: Pick<InboxEvent, 'kind' | 'payload'>): number {
  const envelope = isObject(payload) ? payload : {}
  const event = isObject(envelope.event) ? envelope.event : {}
  const isReactive = kind === 'followup' || (kind === 'external' && (event.reactive ?? envelope.reactive) === true)
  if (!isReactive) return 0
  const requested = [event.iteration_credit, envelope.iteration_credit].find((amount) => typeof amount === 'number')
  return requested === undefined ? defaultExtraRounds : (positiveInteger(requested) ?? 0)
}

/** The extra rounds that events have added to the turn, but at most `maxExtraRounds`. */
export const usableExtraRounds = (budget: Budget): number => Math.min(budget.grantedRounds, budget.maxExtraRounds)
export const maxRoundsOf = (budget: Budget): number => budget.baseRounds + usableExtraRounds(budget)
export const remainingRounds = (budget: Budget): number => Math.max(0, maxRoundsOf(budget) - budget.rounds)

/** Checks whether the model may make another decision. `now` is in epoch milliseconds. `estimate` is the expected cost of the decision. */
export function checkBudget(budget: Budget, now: number, estimate = 0): BudgetCheck {
  if (budget.maxMoney !== undefined && budget.unpriced) return 'stop:unpriced'
  if (remainingRounds(budget) === 0) return 'wrap_up:rounds'
  if (budget.maxMilliseconds !== undefined && now - budget.startedAt >= budget.maxMilliseconds) return 'wrap_up:time'
  if (budget.maxTokens !== undefined && (budget.tokens ?? 0) >= budget.maxTokens) return 'wrap_up:tokens'
  if (budget.maxMoney === undefined) return 'go'
  const isSpent = budget.money >= budget.maxMoney || budget.money + estimate > budget.maxMoney
  return isSpent ? 'wrap_up:money' : 'go'
}

function positiveInteger(amount: number | undefined): number | undefined {
  const whole = Math.floor(amount ?? 0)
  return Number.isSafeInteger(whole) && whole > 0 ? whole : undefined
}

/**
 * Counts the repairs of a turn. A repair is another try after a failed round. Every round ends in one of three ways:
 *
 *   accepted round       the action ran                        `consecutive` starts again at 0
 *   rejected response    the response broke a rule             costs one repair
 *   tool refusal         the tool refused its call             every third refusal in a row costs one repair, if tool and code are the same
 */
export interface RepairCount {
  /** The number of repairs since the last accepted round. */
  readonly consecutive: number
  /** The number of repairs in the whole turn. */
  readonly total: number
  /**
   * True when a response since the last accepted round contained no channel, only plain text. If a later response contains no channel
   * either, it is accepted as the answer.
   */
  readonly plainText?: boolean
  /** The last tool refusal, and how many times in a row this tool refused with this error code. */
  readonly refusal?: { readonly code: string; readonly toolId: string; readonly times: number }
}

interface AfterFailure {
  readonly repairs: RepairCount
  /**
   * What the turn does next. `repair`: it asks the model again. `wrap_up`: no rounds are left, so it calls the model once more, and the
   * model may only answer. `exit`: there were too many repairs, so a fixed text is the answer.
   */
  readonly next: 'repair' | 'wrap_up' | 'exit'
}

const maxConsecutiveRepairs = 2
const maxRepairs = 6
const refusalsPerRepair = 3

export const noRepairs: RepairCount = { consecutive: 0, total: 0 }

/** True when the turn must end because it has had too many repairs. */
export const repairsExhausted = ({ consecutive, total }: RepairCount): boolean => consecutive > maxConsecutiveRepairs || total > maxRepairs

/** The count after a round whose action ran. */
export const afterAcceptedRound = (repairs: RepairCount): RepairCount =>
  repairs.consecutive === 0 && repairs.refusal === undefined ? repairs : { consecutive: 0, total: repairs.total }

/**
 * The count after a response that broke a rule, and what the turn does next. `remainingRounds` does not include the failed round.
 * `plainText` is true when the response had no channel.
 */
export function afterRejectedResponse(repairs: RepairCount, remainingRounds: number, plainText = false): AfterFailure {
  const counted = { consecutive: repairs.consecutive + 1, total: repairs.total + 1 }
  const after: RepairCount = plainText || repairs.plainText ? { ...counted, plainText: true } : counted
  return { repairs: after, next: repairsExhausted(after) ? 'exit' : nextStep(remainingRounds) }
}

/**
 * The count after a tool refused its call, and what the turn does next. When a tool refuses its calls three times in a row with the same
 * error code, this costs one repair.
 */
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

/** The last rounds of a turn that has to finish. If the model does not answer in these rounds, a fixed text is the answer. */
export interface WrapUp {
  readonly rounds: number
  /** The ids of the tools that the model may still call. */
  readonly tools: readonly string[]
  readonly maxTokens: number
}

const minTokens = 512

/** The wrap-up when the turn has reached a limit. The model is called once and may only answer. */
export const budgetWrapUp: WrapUp = { rounds: 1, tools: [], maxTokens: 3_000 }

/** The wrap-up after the user asked the agent to finish. The agent may still write its results to files before it answers. */
export const steerWrapUp: WrapUp = { rounds: 2, tools: ['react.write', 'react.patch', 'react.plan', 'react.hide'], maxTokens: 3_000 }

/**
 * A copy of the wrap-up `kind` with the limits in `settings`. A limit that `settings` lacks stays as in `kind`. The copy has at least one
 * round and at least 512 output tokens.
 */
export function openWrapUp(kind: WrapUp, settings: { readonly rounds?: number; readonly maxTokens?: number } = {}): WrapUp {
  const { rounds = kind.rounds, maxTokens = kind.maxTokens } = settings
  return { ...kind, rounds: Math.max(1, Math.floor(rounds) || 1), maxTokens: Math.max(minTokens, Math.floor(maxTokens) || 0) }
}

export type WrapUpVerdict =
  | { readonly verdict: 'answer'; readonly decision: FinalDecision }
  /**
   * The model called allowed tools only, and they may run. `wrapUp` has the number of rounds that are left after this call. If no rounds
   * are left, the turn ends after the call with a fixed text as its answer.
   */
  | { readonly verdict: 'call'; readonly wrapUp: WrapUp }
  /** The response is neither an answer nor an allowed call. The turn ends with a fixed text as its answer. */
  | { readonly verdict: 'stop' }

/** Decides what the turn does after a response in a wrap-up. `decision` is undefined when the response broke a rule. */
export function checkWrapUp(wrapUp: WrapUp, decision: Decision | undefined): WrapUpVerdict {
  if (decision === undefined) return { verdict: 'stop' }
  if (decision.action !== 'call_tool') return { verdict: 'answer', decision }
  if (wrapUp.rounds <= 0 || !callsOf(decision).every(({ toolId }) => wrapUp.tools.includes(toolId))) return { verdict: 'stop' }
  return { verdict: 'call', wrapUp: spendRound(wrapUp) }
}

export const spendRound = (wrapUp: WrapUp): WrapUp => ({ ...wrapUp, rounds: Math.max(0, wrapUp.rounds - 1) })
