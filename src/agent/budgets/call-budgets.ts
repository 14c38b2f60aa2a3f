import { callUsages } from '../../core/cost/call-usage.ts'
import type { PriceOf } from '../../core/cost/price.ts'
import { knownPrice } from '../../core/cost/turn-usage.ts'
import type { ModelUsage } from '../../core/model-event.ts'
import {
  type Amount,
  type AmountLimits,
  addAmounts,
  type BudgetKind,
  budgetKindOf,
  budgetKinds,
  budgetsOf,
  leftOf,
  nothing,
  type RequestedAmount,
  toMicros,
  toMoney,
} from '../../core/shared-budget.ts'
import type { Change, ResponseReceived } from '../../core/timeline/change.ts'
import type { BudgetEntry, Budgets, StoredBudget } from '../../ports/store/budgets.ts'
import type { Claim } from '../../ports/store.ts'
import type { AgentSettings } from '../settings.ts'

/** Reserves the cost of model calls in the budgets of a conversation, and counts the cost of their responses. */
export interface CallBudgets {
  /**
   * Reserves the highest cost of a call. Returns undefined if the call may be made, and otherwise the budget into which it does not fit. A
   * call of the same kind replaces the reservation of the previous call. `isWrapUp` is true for the last call of a turn that has reached a
   * limit.
   */
  reserve(slot: CallSlot, call: () => ExpectedCall, isWrapUp?: boolean): Promise<BudgetRefusal | undefined>
  /** The costs that an append with these changes adds to the budgets. Undefined when there are none. */
  entryFor(changes: readonly Change[]): BudgetEntry | undefined
}

/** The kinds of model calls. A conversation makes at most one call of each kind at the same time. */
export type CallSlot = NonNullable<ResponseReceived['role']> | 'decision'

/** A model call that is about to be made. */
export interface ExpectedCall {
  readonly model: string
  /** The estimated tokens of the prompt, corrected by `calibrationOf`. */
  readonly inputTokens: number
  readonly maxTokens: number
  /** Attempts of this call that have failed. Their cost is added to the cost of the response. */
  readonly failed?: readonly { readonly usage: ModelUsage; readonly model: string }[]
}

/** A budget that a call would exceed. */
export interface BudgetRefusal {
  /** The name of the budget. */
  readonly name: string
  readonly because: 'tokens' | 'money' | 'unpriced'
  /** The question to an operator. Undefined when no person can be asked, as in a replay. */
  readonly question?: string
}

/** The result of a check for limits is used for this many milliseconds. After that, the store is asked again. */
const LOOK_MS = 1_000

/** Finds out whether any budget has limits. If no budget has limits, no amounts are reserved for calls. */
export interface BudgetWatch {
  hasBudgets(): Promise<boolean>
  /** Makes the next call of `hasBudgets` ask the store again. Called when this process has set limits. */
  forget(): void
}

export function watchBudgets(budgets: Budgets | undefined, settings: () => Pick<AgentSettings, 'budgets'>): BudgetWatch {
  let known: { readonly at: number; readonly answer: Promise<boolean> } | undefined
  return {
    async hasBudgets() {
      if (!budgets) return false
      if (usualLimits(settings().budgets).size > 0) return true
      if (known && performance.now() - known.at < LOOK_MS) return known.answer
      const answer = budgets.hasLimits()
      const asked = { at: performance.now(), answer }
      known = asked
      answer.catch(() => {
        if (known === asked) known = undefined // the result of a failed check is not kept, and the caller gets the error
      })
      return answer
    },
    forget() {
      known = undefined
    },
  }
}

/** The limits of the settings, by the kind of budget. */
export function usualLimits(settings: AgentSettings['budgets']): ReadonlyMap<BudgetKind, AmountLimits> {
  const limits = new Map<BudgetKind, AmountLimits>()
  for (const kind of budgetKinds) {
    const { tokens, money } = settings[kind] ?? {}
    if (tokens === undefined && money === undefined) continue
    limits.set(kind, { ...(tokens !== undefined && { tokens }), ...(money !== undefined && { micros: toMicros(money) }) })
  }
  return limits
}

interface CallBudgetParts {
  readonly budgets: Budgets
  readonly settings: Pick<AgentSettings, 'budgets' | 'priceOf'>
  readonly claim: Claim
}

export function createCallBudgets({ budgets, settings, claim }: CallBudgetParts): CallBudgets {
  const { priceOf } = settings
  /** For each kind of call, the budgets in which its cost is reserved. */
  const granted = new Map<CallSlot, readonly string[]>()
  const usual = usualLimits(settings.budgets)
  const named = budgetsOf(claim.conversationId).map(({ kind, name }) => {
    const limits = usual.get(kind)
    return { name, ...(limits && { usual: limits }) }
  })

  return {
    async reserve(slot, call) {
      const amount = expectedAmount(call(), priceOf)
      const result = await budgets.reserve(claim, { slot, amount, budgets: named })
      if ('granted' in result) {
        granted.set(slot, result.granted)
        return undefined
      }
      granted.delete(slot)
      return refusalOf(result.refused, result.because, amount, usual)
    },
    entryFor(changes) {
      if (granted.size === 0) return undefined
      const charges = changes.flatMap((change) => {
        if (change.type !== 'response.received') return []
        const slot = change.role ?? 'decision'
        const names = granted.get(slot)
        return names && names.length > 0 ? [{ slot, names, amount: amountOf(change, priceOf) }] : []
      })
      return charges.length > 0 ? { charges } : undefined
    },
  }
}

function refusalOf(
  budget: StoredBudget,
  because: BudgetRefusal['because'],
  requested: RequestedAmount,
  usual: ReadonlyMap<BudgetKind, AmountLimits>,
): BudgetRefusal {
  const left = leftOf(budget, usual.get(budgetKindOf(budget.name) ?? 'conversation'))
  const [has, takes] =
    because === 'tokens'
      ? [`${left.tokens ?? 0} tokens`, `${requested.tokens} tokens`]
      : [`${toMoney(left.micros ?? 0)} US dollars`, `${toMoney(requested.micros ?? 0)} US dollars`]
  return {
    name: budget.name,
    because,
    question: `The budget ${budget.name} has ${has} left, and the next call of the model may take ${takes}. May it have more?`,
  }
}

/** The highest cost of a call: its prompt at the full price, as if nothing of it were cached, and the longest output. */
function expectedAmount({ model, inputTokens, maxTokens, failed = [] }: ExpectedCall, priceOf: PriceOf | undefined): RequestedAmount {
  const input = Math.ceil(inputTokens)
  const none: ModelUsage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: maxTokens, reasoning: 0 }
  const before = failed.reduce((sum, { usage, model: name }) => addAmounts(sum, amountOfCall(usage, name, priceOf)), nothing)
  // some providers charge more for text that they write to their cache
  const prices = [
    { ...none, uncached: input },
    { ...none, cacheWrite: input },
  ].map((usage) => priceOf && knownPrice(priceOf, usage, model))
  const price = prices.includes(undefined) ? undefined : Math.max(...prices.map((each) => each ?? 0))
  const { tokens, micros } = addAmounts(before, { tokens: input + maxTokens, micros: toMicros(price ?? 0) })
  return { tokens, micros: price === undefined ? null : micros }
}

/** What a response has cost, with the attempts that failed before it. */
const amountOf = (response: ResponseReceived, priceOf: PriceOf | undefined): Amount =>
  callUsages(response).reduce((sum, { usage, model }) => addAmounts(sum, amountOfCall(usage, model, priceOf)), nothing)

function amountOfCall(usage: ModelUsage, model: string, priceOf: PriceOf | undefined): Amount {
  const { uncached, cacheRead, cacheWrite, output } = usage
  const price = priceOf && knownPrice(priceOf, usage, model)
  return { tokens: Math.ceil(uncached + cacheRead + cacheWrite + output), micros: toMicros(price ?? 0) }
}
