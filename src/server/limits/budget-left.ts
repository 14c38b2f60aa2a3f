import type { Agent } from '../../agent/agent-interface.ts'
import type { BudgetKind } from '../../core/shared-budget.ts'
import type { Caller } from '../auth/authenticate.ts'
import { isOperator } from '../auth/viewer.ts'

type Budgets = Pick<Agent['budgets'], 'left'>

/** The kinds of budgets that belong to a user alone. From the others, a user would learn what other users have spent. */
const ownKinds: readonly BudgetKind[] = ['user', 'conversation']

/** The kinds of budgets that a caller may see. Undefined means all kinds. */
export const visibleKinds = (caller: Caller): readonly BudgetKind[] | undefined => (isOperator(caller) ? undefined : ownKinds)

/** The least that the budgets of these conversations have left, as far as the caller may see the budgets. */
export const budgetsLeft = (budgets: Budgets, caller: Caller, conversationKeys: readonly string[]): ReturnType<Budgets['left']> =>
  budgets.left(conversationKeys, visibleKinds(caller))

/** Headers with what the budgets of a conversation have left. Empty when nothing is limited. */
export async function budgetHeaders(budgets: Budgets, caller: Caller, conversationKey: string): Promise<Record<string, string>> {
  const { tokens, money } = (await budgetsLeft(budgets, caller, [conversationKey])).get(conversationKey) ?? {}
  return {
    ...(tokens !== undefined && { 'daybook-budget-tokens-left': String(tokens) }),
    ...(money !== undefined && { 'daybook-budget-money-left': String(money) }),
  }
}
