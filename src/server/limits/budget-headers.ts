import type { Agent } from '../../agent/agent-interface.ts'

/** Headers with what the budgets of a conversation have left: the least of all of them. Empty when nothing is limited. */
export async function budgetHeaders(budgets: Pick<Agent['budgets'], 'of'>, conversationKey: string): Promise<Record<string, string>> {
  const lefts = (await budgets.of(conversationKey)).map(({ left }) => left)
  const least = (amounts: readonly (number | undefined)[]) => Math.min(...amounts.map((amount) => amount ?? Number.POSITIVE_INFINITY))
  const [tokens, money] = [least(lefts.map((left) => left.tokens)), least(lefts.map((left) => left.money))]
  return {
    ...(Number.isFinite(tokens) && { 'daybook-budget-tokens-left': String(tokens) }),
    ...(Number.isFinite(money) && { 'daybook-budget-money-left': String(money) }),
  }
}
