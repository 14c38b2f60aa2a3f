import { isObject } from './json.ts'
import type { InboxEvent } from './timeline/change.ts'

/** The limits of one turn, as set by the user of the SDK. */
export interface BudgetSettings {
  /** The most decisions of the model in the turn. Repeated decisions after a mistake count too. Without a positive number it is 15. */
  readonly maxRounds?: number
  /** How many extra rounds events may add in all. By default as many as `maxRounds`. */
  readonly creditCap?: number
  /** Wall-clock milliseconds of the whole turn. */
  readonly maxMilliseconds?: number
  /** The most money that the turn may cost, in the currency of the amounts given to `spend`. */
  readonly maxMoney?: number
}

/** The limits of a turn and what it has used so far. Immutable: the functions below return a new one. */
export interface Budget {
  readonly baseRounds: number
  readonly maxExtraRounds: number
  readonly grantedRounds: number
  readonly grantedEventIds: readonly string[]
  /** Rounds used so far. */
  readonly rounds: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly maxMilliseconds?: number
  readonly maxMoney?: number
  /** Money used so far. */
  readonly money: number
  /** The turn used something whose price is unknown. */
  readonly unpriced?: boolean
}

/** What the turn may do next. `stop:unpriced`: a money limit is set but a price is unknown. Then not even a wrap-up call is allowed. */
export type BudgetCheck = 'go' | 'wrap_up:rounds' | 'wrap_up:time' | 'wrap_up:money' | 'stop:unpriced'

const defaultRounds = 15
const defaultExtraRounds = 1

/** The budget at the start of a turn; `startedAt` is in epoch milliseconds. */
export function createBudget(settings: BudgetSettings, startedAt: number): Budget {
  const baseRounds = positiveInteger(settings.maxRounds) ?? defaultRounds
  const { maxMilliseconds, maxMoney } = settings
  return {
    baseRounds,
    maxExtraRounds: settings.creditCap === undefined ? baseRounds : Math.max(0, Math.floor(settings.creditCap) || 0),
    grantedRounds: 0,
    grantedEventIds: [],
    rounds: 0,
    startedAt,
    ...(maxMilliseconds !== undefined && { maxMilliseconds }),
    ...(maxMoney !== undefined && { maxMoney }),
    money: 0,
  }
}

/** Adds to the used amounts. A decision costs one round and money; a wrap-up call costs money only. */
export function spend(budget: Budget, cost: { readonly rounds?: number; readonly money?: number }): Budget {
  return { ...budget, rounds: budget.rounds + (cost.rounds ?? 0), money: budget.money + (cost.money ?? 0) }
}

/** Adds rounds for an event that needs an answer. An event may be delivered twice but adds its rounds only once. */
export function grantExtraRounds(budget: Budget, eventId: string, amount: number = defaultExtraRounds): Budget {
  const rounds = positiveInteger(amount)
  if (rounds === undefined || budget.grantedEventIds.includes(eventId)) return budget
  return { ...budget, grantedRounds: budget.grantedRounds + rounds, grantedEventIds: [...budget.grantedEventIds, eventId] }
}

/**
 * The extra rounds that an event adds. Followups, and external events that are marked as reactive, add `iteration_credit` rounds, or one
 * without that field. Other events add none. Both fields of the event itself have precedence over those of its envelope.
 */
export function extraRoundsOf({ kind, payload }: Pick<InboxEvent, 'kind' | 'payload'>): number {
  const envelope = isObject(payload) ? payload : {}
  const event = isObject(envelope.event) ? envelope.event : {}
  const isReactive = kind === 'followup' || (kind === 'external' && (event.reactive ?? envelope.reactive) === true)
  if (!isReactive) return 0
  const requested = [event.iteration_credit, envelope.iteration_credit].find((amount) => typeof amount === 'number')
  return requested === undefined ? defaultExtraRounds : (positiveInteger(requested) ?? 0)
}

/** The granted rounds, up to the limit. */
export const usableExtraRounds = (budget: Budget): number => Math.min(budget.grantedRounds, budget.maxExtraRounds)
export const maxRoundsOf = (budget: Budget): number => budget.baseRounds + usableExtraRounds(budget)
export const remainingRounds = (budget: Budget): number => Math.max(0, maxRoundsOf(budget) - budget.rounds)

/** Checks whether the model may decide once more. `now` is in epoch milliseconds; `estimate` is the expected cost of the decision. */
export function checkBudget(budget: Budget, now: number, estimate = 0): BudgetCheck {
  if (budget.maxMoney !== undefined && budget.unpriced) return 'stop:unpriced'
  if (remainingRounds(budget) === 0) return 'wrap_up:rounds'
  if (budget.maxMilliseconds !== undefined && now - budget.startedAt >= budget.maxMilliseconds) return 'wrap_up:time'
  if (budget.maxMoney === undefined) return 'go'
  const isSpent = budget.money >= budget.maxMoney || budget.money + estimate > budget.maxMoney
  return isSpent ? 'wrap_up:money' : 'go'
}

function positiveInteger(amount: number | undefined): number | undefined {
  const whole = Math.floor(amount ?? 0)
  return Number.isSafeInteger(whole) && whole > 0 ? whole : undefined
}
