import { Failure } from '../../core/failure.ts'
import { numberFrom, type OptionRules, optional, text, wholeNumberFrom } from '../../core/options.ts'
import {
  type Amount,
  type AmountLimits,
  type BudgetKind,
  budgetKindOf,
  budgetKinds,
  budgetsOf,
  invalidBudgetName,
  leftOf,
  limitsOf,
  nothing,
  toMicros,
  toMoney,
} from '../../core/shared-budget.ts'
import type { BudgetQuery, Budgets, StoredBudget } from '../../ports/store/budgets.ts'
import { check } from '../message.ts'
import type { AgentSettings } from '../settings.ts'
import { type BudgetWatch, usualLimits } from './call-budgets.ts'

/** Tokens and money. Money is in the currency of the setting `priceOf`. */
export interface BudgetAmount {
  readonly tokens: number
  readonly money: number
}

/** The limits of a budget. A field that is left out has no limit. */
export interface BudgetLimits {
  readonly tokens?: number
  readonly money?: number
}

/** A budget that conversations share, in all processes that use the store. */
export interface Budget {
  /** `day`, `day/acme`, `tenant/acme`, `user/acme/web/ann` or `conversation/acme/web/ann/chat_1`. */
  readonly name: string
  readonly kind: BudgetKind
  /** The limits that apply. They include the amounts that an operator has allowed in addition. */
  readonly limits: BudgetLimits
  readonly spent: BudgetAmount
  /** The amounts that are reserved for running model calls. */
  readonly reserved: BudgetAmount
  /** The amounts that are left for new calls. */
  readonly left: BudgetLimits
}

/** One page of `agent.budgets.list`. */
export interface BudgetPage {
  readonly budgets: readonly Budget[]
  readonly next?: string
}

/** Reads and limits the budgets that conversations share. */
export interface BudgetControl {
  /** The budgets of the store, page by page, in the order of their names. */
  list(query?: BudgetQuery): Promise<BudgetPage>
  /** The budgets of a conversation that have limits, from the widest (`day`) to the narrowest (`conversation`). */
  of(conversationId: string): Promise<readonly Budget[]>
  /** One budget. A budget from which nothing was spent is also returned. */
  get(name: string): Promise<Budget>
  /**
   * For each conversation, the smallest amount that is left in any of its budgets. With `kinds`, only budgets of these kinds are
   * considered. A conversation without limits is left out.
   */
  left(conversationIds: readonly string[], kinds?: readonly BudgetKind[]): Promise<ReadonlyMap<string, BudgetLimits>>
  /**
   * Sets the limits of a budget, such as `tenant/acme`. They apply in all processes, within about a second. With an empty object, the
   * budget has no limits. With null, the limits in the settings apply again. The sums do not include amounts that were spent before the
   * budget had limits.
   */
  set(name: string, limits: BudgetLimits | null): Promise<Budget>
  /** Removes a budget and its sums. Returns false when there is no budget with this name. */
  remove(name: string): Promise<boolean>
}

const limitRules: OptionRules<BudgetLimits> = { tokens: optional(wholeNumberFrom(0)), money: optional(numberFrom(0, 1e9)) }
const checkLimits = check<BudgetLimits>('budgets.set', limitRules, 'an object such as { tokens, money }')
const checkQuery = check<BudgetQuery>('budgets.list', {
  prefix: optional(text),
  limit: optional(wholeNumberFrom(1)),
  cursor: optional(text),
})

interface ControlParts {
  readonly budgets: Budgets | undefined
  readonly watch: BudgetWatch
  settings(): Pick<AgentSettings, 'budgets'>
}

export function createBudgetControl({ budgets, watch, settings }: ControlParts): BudgetControl {
  function stored(): Budgets {
    if (budgets) return budgets
    throw new Failure('budget.unsupported', 'the store of this agent has no budgets: use a store of Daybook, or add `budgets` to your own')
  }
  const describe = (budget: StoredBudget): Budget => describeBudget(budget, usualLimits(settings().budgets))

  /** The budgets of conversations that have limits, in the order of `budgetsOf`. */
  async function limited(conversationIds: readonly string[]): Promise<readonly (readonly Budget[])[]> {
    if (conversationIds.length === 0 || !(await watch.hasBudgets())) return conversationIds.map(() => [])
    const named = conversationIds.map(budgetsOf)
    const names = [...new Set(named.flatMap((each) => each.map(({ name }) => name)))]
    const found = new Map((await stored().read(names)).map((budget) => [budget.name, budget]))
    const usual = usualLimits(settings().budgets)
    return named.map((each) =>
      each.flatMap(({ kind, name }) => {
        const budget = found.get(name) ?? { ...unused, name }
        return limitsOf(budget, usual.get(kind)) ? [describeBudget(budget, usual)] : []
      }),
    )
  }

  return {
    async list(query = {}) {
      const page = await stored().list(checkQuery(query))
      return { budgets: page.budgets.map(describe), ...(page.next !== undefined && { next: page.next }) }
    },
    of: async (conversationId) => (await limited([conversationId]))[0] ?? [],
    async get(name) {
      if (budgetKindOf(name) === undefined) throw invalidBudgetName(name)
      const [found] = await stored().read([name])
      return describe(found ?? { ...unused, name })
    },
    async left(conversationIds, kinds = budgetKinds) {
      const budgets = await limited(conversationIds)
      const lefts = conversationIds.map((id, n) => [id, leastOf(budgets[n]?.filter(({ kind }) => kinds.includes(kind)) ?? [])] as const)
      return new Map(lefts.filter(([, { tokens, money }]) => tokens !== undefined || money !== undefined))
    },
    async set(name, limits) {
      const { tokens, money } = limits === null ? {} : checkLimits(limits)
      const amounts = { ...(tokens !== undefined && { tokens }), ...(money !== undefined && { micros: toMicros(money) }) }
      const budget = await stored().setLimits(name, limits === null ? null : amounts)
      watch.forget()
      return describe(budget)
    },
    remove: async (name) => stored().remove(name),
  }
}

function leastOf(budgets: readonly Budget[]): BudgetLimits {
  const least = (key: keyof BudgetLimits) => Math.min(...budgets.map(({ left }) => left[key] ?? Number.POSITIVE_INFINITY))
  const [tokens, money] = [least('tokens'), least('money')]
  return { ...(Number.isFinite(tokens) && { tokens }), ...(Number.isFinite(money) && { money }) }
}

/** An unused budget. The store has no row for it. */
const unused = { limits: null, extra: nothing, spent: nothing, reserved: nothing, day: null }

function describeBudget(budget: StoredBudget, usual: ReadonlyMap<BudgetKind, AmountLimits>): Budget {
  const kind = budgetKindOf(budget.name) ?? 'conversation' // always found, because a store has only valid names
  const own = usual.get(kind)
  return {
    ...{ name: budget.name, kind, limits: toLimits(limitsOf(budget, own) ?? {}) },
    ...{ spent: toAmount(budget.spent), reserved: toAmount(budget.reserved), left: toLimits(leftOf(budget, own)) },
  }
}

const toAmount = ({ tokens, micros }: Amount): BudgetAmount => ({ tokens, money: toMoney(micros) })
const toLimits = ({ tokens, micros }: AmountLimits): BudgetLimits => ({
  ...(tokens !== undefined && { tokens }),
  ...(micros !== undefined && { money: toMoney(micros) }),
})
