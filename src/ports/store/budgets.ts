import type { Amount, AmountLimits, BudgetSums, RequestedAmount } from '../../core/shared-budget.ts'
import type { Claim } from '../store.ts'

/**
 * The budgets that conversations share, in all processes that use the store. Each has a name such as `tenant/acme`: see `budgetName`. A
 * store keeps only the sums of the budgets. The journal of a conversation shows what the conversation has spent. The append that stores a
 * response also adds the cost of the response to the budgets.
 */
export interface Budgets {
  /**
   * Reserves an amount in all of the named budgets, or in none if it does not fit into one of them. A reservation belongs to the claim, and
   * ends when the lease of the claim ends. A `slot` is the name of a kind of model call. Each slot of a conversation has at most one
   * reservation: a new reservation replaces the earlier one. Nothing is reserved in budgets without limits. Throws
   * `conversation.superseded` when the claim is lost.
   */
  reserve(claim: Claim, request: ReserveRequest): Promise<ReserveResult>
  /** Ends the reservation of a slot. No cost is counted for it. Does nothing when the claim is lost. */
  release(claim: Claim, slot: string): Promise<void>
  /** The budgets with these names that the store has, in the order of their names. Reservations whose lease has ended are not included. */
  read(names: readonly string[]): Promise<readonly StoredBudget[]>
  /** The budgets that the store has, page by page, in the order of the UTF-8 bytes of their names. */
  list(query?: BudgetQuery): Promise<StoredBudgetPage>
  /**
   * Sets the limits of a budget. With null, the limits in the settings apply to the budget again. With an empty object, the budget has no
   * limits. Amounts that an operator has allowed in addition are removed. The sums do not include amounts that were spent before the budget
   * had limits.
   */
  setLimits(name: string, limits: AmountLimits | null): Promise<StoredBudget>
  /** Removes a budget with its sums. Returns false when the store has no such budget. */
  remove(name: string): Promise<boolean>
  /** Whether limits were set for any budget. */
  hasLimits(): Promise<boolean>
}

/** A budget in the store. */
export interface StoredBudget extends BudgetSums {
  readonly name: string
}

/** One page of `Budgets.list`. */
export interface StoredBudgetPage {
  readonly budgets: readonly StoredBudget[]
  readonly next?: string
}

/** Which budgets `list` returns. */
export interface BudgetQuery {
  /** Only budgets whose name begins with this text. */
  readonly prefix?: string
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly cursor?: string
}

/** The amount of a model call that is about to be made, and its budgets. */
export interface ReserveRequest {
  readonly slot: string
  readonly amount: RequestedAmount
  /** The budgets in which the amount is reserved. `usual` are the limits in the settings. */
  readonly budgets: readonly { readonly name: string; readonly usual?: AmountLimits }[]
}

/**
 * `granted`: the names of the budgets with limits, to which the cost is added later. `refused`: the first budget into which the amount does
 * not fit.
 */
export type ReserveResult =
  | { readonly granted: readonly string[] }
  | { readonly refused: StoredBudget; readonly because: 'tokens' | 'money' | 'unpriced' }

/** What an append does to budgets, in its transaction. */
export interface BudgetEntry {
  /** The costs of responses in the append. Each charge ends the reservation of its slot. */
  readonly charges?: readonly { readonly slot: string; readonly names: readonly string[]; readonly amount: Amount }[]
  /** Amounts that an operator has allowed in addition to the limits. */
  readonly raises?: readonly { readonly name: string; readonly amount: Amount }[]
}
