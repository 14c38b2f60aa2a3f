import { isObject } from './json.ts'
import type { InboxEvent } from './timeline/change.ts'

export interface BudgetSettings {
  /** Model calls that decide, repairs included. Anything but a positive number means 15. */
  readonly maxRounds?: number
  /** What events that need an answer may add to the rounds: none, or so many in all. As many as the rounds themselves when not said. */
  readonly creditCap?: number
  /** Wall-clock milliseconds of the whole turn. */
  readonly maxMilliseconds?: number
  /** In the currency in which `spend` is told. */
  readonly maxMoney?: number
}

/** What a turn may use, and what it has used. A value: every function below returns another one. */
export interface Budget {
  readonly baseRounds: number
  readonly maxExtraRounds: number
  readonly grantedRounds: number
  readonly grantedEventIds: readonly string[]
  readonly rounds: number
  readonly startedAt: number
  readonly maxMilliseconds?: number
  readonly maxMoney?: number
  readonly money: number
  /** Something was used whose price is not known. */
  readonly unpriced?: boolean
}

/** `stop`: a limit of money that cannot be kept. Nothing more may be used, not even to wrap up. */
export type BudgetCheck = 'go' | 'wrap_up:rounds' | 'wrap_up:time' | 'wrap_up:money' | 'stop:unpriced'

export const defaultRounds = 15
export const defaultExtraRounds = 1

export function createBudget(settings: BudgetSettings, startedAt: number): Budget {
  const base = positiveInteger(settings.maxRounds) ?? defaultRounds
  const { maxMilliseconds, maxMoney } = settings
  return {
    baseRounds: base,
    maxExtraRounds: settings.creditCap === undefined ? base : Math.max(0, Math.floor(settings.creditCap) || 0),
    grantedRounds: 0,
    grantedEventIds: [],
    rounds: 0,
    startedAt,
    ...(maxMilliseconds !== undefined && { maxMilliseconds }),
    ...(maxMoney !== undefined && { maxMoney }),
    money: 0,
  }
}

/** Every call of the model in the decision state costs one round; a wrap-up call costs money only. */
export function spend(budget: Budget, cost: { readonly rounds?: number; readonly money?: number }): Budget {
  return { ...budget, rounds: budget.rounds + (cost.rounds ?? 0), money: budget.money + (cost.money ?? 0) }
}

/** An event that wants an answer pays for finding it. Each event pays once, however often it is delivered. */
export function grantExtraRounds(budget: Budget, eventId: string, amount: number = defaultExtraRounds): Budget {
  const whole = positiveInteger(amount)
  if (whole === undefined || budget.grantedEventIds.includes(eventId)) return budget
  return { ...budget, grantedRounds: budget.grantedRounds + whole, grantedEventIds: [...budget.grantedEventIds, eventId] }
}

/**
 * The credit that an event brings: a followup always, something from outside only when it says that it is reactive, a steer
 * or a reaction never. The occurrence's own word counts before its envelope's, and that before what the source declared.
 */
export function extraRoundsOf(event: Pick<InboxEvent, 'kind' | 'payload'>, declared?: number): number {
  const envelope = isObject(event.payload) ? event.payload : {}
  const occurrence = isObject(envelope.event) ? envelope.event : {}
  const reactive = event.kind === 'followup' || (event.kind === 'external' && (occurrence.reactive ?? envelope.reactive) === true)
  if (!reactive) return 0
  const said = [occurrence.iteration_credit, envelope.iteration_credit, declared].find((amount) => typeof amount === 'number')
  return said === undefined ? defaultExtraRounds : (positiveInteger(said) ?? 0)
}

/** Credit that counts: what was granted, up to the cap. */
export const usableExtraRounds = (budget: Budget): number => Math.min(budget.grantedRounds, budget.maxExtraRounds)
export const maxRoundsOf = (budget: Budget): number => budget.baseRounds + usableExtraRounds(budget)
export const remainingRounds = (budget: Budget): number => Math.max(0, maxRoundsOf(budget) - budget.rounds)

/** May the model decide once more? Asked before each decision; `estimate` is what that decision is likely to cost. */
export function checkBudget(budget: Budget, now: number, estimate = 0): BudgetCheck {
  if (budget.maxMoney !== undefined && budget.unpriced) return 'stop:unpriced'
  if (remainingRounds(budget) === 0) return 'wrap_up:rounds'
  if (budget.maxMilliseconds !== undefined && now - budget.startedAt >= budget.maxMilliseconds) return 'wrap_up:time'
  if (budget.maxMoney === undefined) return 'go'
  const spent = budget.money >= budget.maxMoney || budget.money + estimate > budget.maxMoney
  return spent ? 'wrap_up:money' : 'go'
}

function positiveInteger(amount: number | undefined): number | undefined {
  const whole = Math.floor(amount ?? 0)
  return Number.isSafeInteger(whole) && whole > 0 ? whole : undefined
}
