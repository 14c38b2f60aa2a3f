import type { Amount, AmountLimits } from '../../../core/shared-budget.ts'
import type { Budgets, ReserveRequest } from '../../../ports/store/budgets.ts'
import type { Claim, ConversationStore } from '../../../ports/store.ts'
import { type CreateStore, owner } from './fixture.ts'

const budgetsIn = (store: ConversationStore): Budgets => {
  if (store.budgets) return store.budgets
  throw new Error('the store has no budgets: pass `hasBudgets: false`')
}

export const amount = (tokens: number, micros = 0): Amount => ({ tokens, micros })

export const request = (tokens: number, names: readonly string[] = ['tenant/t'], usual?: AmountLimits): ReserveRequest => ({
  slot: 'decision',
  amount: amount(tokens),
  budgets: names.map((name) => ({ name, ...(usual && { usual }) })),
})

/** A store with two claimed conversations and their budgets. */
export async function createWithClaims(create: CreateStore) {
  const fixture = await create()
  const { store } = fixture
  const budgets = budgetsIn(store)
  const [c1, c2] = [await store.claim('c1', owner('a')), await store.claim('c2', owner('b'))]
  const charge = (claim: Claim, tokens: number, names = ['tenant/t'], micros = 0) =>
    store.append(claim, [], { budget: { charges: [{ slot: 'decision', names, amount: amount(tokens, micros) }] } })
  const stateOf = async (name = 'tenant/t') => {
    const [state] = await budgets.read([name])
    return state && { spent: state.spent.tokens, reserved: state.reserved.tokens }
  }
  return { ...fixture, budgets, c1, c2, charge, stateOf }
}
