import type { Agent } from '../../agent/agent-interface.ts'
import type { BudgetKind } from '../../core/shared-budget.ts'
import type { Caller } from '../auth/authenticate.ts'
import { isOperator } from '../auth/viewer.ts'

type Budgets = Pick<Agent['budgets'], 'left'>

/** The kinds of budgets that belong to a user alone. The other kinds of budgets would show a user what other users have spent. */
const ownKinds: readonly BudgetKind[] = ['user', 'conversation']

/** The kinds of budgets that a caller may see. Undefined means all kinds. */
export const visibleKinds = (caller: Caller): readonly BudgetKind[] | undefined => (isOperator(caller) ? undefined : ownKinds)

/**
 * For each of these conversations, the lowest amount that is left in one of its budgets. Budgets that the caller may not see are left out.
 */
export const budgetsLeft = (budgets: Budgets, caller: Caller, conversationKeys: readonly string[]): ReturnType<Budgets['left']> =>
  budgets.left(conversationKeys, visibleKinds(caller))

/** Headers with the amount that is left in the budgets of a conversation. Empty when no budget has a limit. */
export async function budgetHeaders(budgets: Budgets, caller: Caller, conversationKey: string): Promise<Record<string, string>> {
  const { tokens, money } = (await budgetsLeft(budgets, caller, [conversationKey])).get(conversationKey) ?? {}
  return {
    ...(tokens !== undefined && { 'daybook-budget-tokens-left': String(tokens) }),
    ...(money !== undefined && { 'daybook-budget-money-left': String(money) }),
  }
}
