import type { BudgetEntry, Budgets, StoredBudget } from '../../../ports/store/budgets.ts'
import type { SubjectNames } from '../../../ports/store/receipts.ts'
import {
  type BudgetWrites,
  budgetPage,
  checkBudget,
  currentBudgets,
  dayOf,
  namesInEntry,
  namesToCreate,
  newBudget,
  parseBudgetCursor,
  planEntry,
  planReserve,
  type Reservation,
  sortedNames,
  withLimits,
} from '../shared/budgets.ts'
import { pageSize } from '../shared/conversation-info.ts'
import { checkClaim, isHeld } from '../shared/lease.ts'
import type { MemoryConversation } from './conversation.ts'

interface BudgetParts {
  readonly conversations: ReadonlyMap<string, MemoryConversation>
  write<T>(work: () => T | Promise<T>): Promise<T>
  now(): string
}

/** The budgets in memory. A reservation contains the id of its conversation. */
export function createMemoryBudgets({ conversations, write, now }: BudgetParts) {
  const budgets = new Map<string, StoredBudget>()
  let reservations: readonly Reservation[] = []

  const today = () => dayOf(now())
  const createMissing = (names: readonly string[]) => {
    for (const name of names) if (!budgets.has(name)) budgets.set(name, newBudget(name))
  }
  const find = (names: readonly string[]): readonly StoredBudget[] => sortedNames(names).flatMap((name) => budgets.get(name) ?? [])
  const own = (conversationId: string, slot: string) =>
    reservations.filter((each) => each.conversation === conversationId && each.slot === slot)

  function isEnded({ conversation, epoch }: Reservation): boolean {
    const lease = conversations.get(String(conversation))?.lease
    return lease === undefined || lease.epoch !== epoch || !isHeld(lease, now())
  }

  function apply({ budgets: changed, removed, added }: BudgetWrites): void {
    for (const budget of changed) budgets.set(budget.name, budget)
    reservations = [...reservations.filter((each) => !removed.includes(each)), ...added]
  }

  const current = (rows: readonly StoredBudget[]): readonly StoredBudget[] => currentBudgets(rows, reservations.filter(isEnded), today())

  /** Applies the charges and raises of an append to the budgets. Call it inside `write`. */
  function enter(conversationId: string, entry: BudgetEntry): void {
    const ended = (entry.charges ?? []).flatMap(({ slot }) => own(conversationId, slot))
    createMissing(namesInEntry(entry))
    const rows = find([...namesInEntry(entry), ...ended.map(({ name }) => name)])
    apply(planEntry({ budgets: rows, own: ended }, entry, today()))
  }

  function remove(name: string): boolean {
    reservations = reservations.filter((each) => each.name !== name)
    return budgets.delete(name)
  }

  const port: Budgets = {
    reserve: (claim, request) =>
      write(() => {
        const { conversationId: conversation, epoch } = claim
        checkClaim(claim, conversations.get(conversation)?.lease)
        createMissing(namesToCreate(request))
        const replaced = own(conversation, request.slot)
        const names = [...request.budgets, ...replaced].map(({ name }) => name)
        const rows = { budgets: find(names), own: replaced }
        const place = { conversation, slot: request.slot, epoch }
        const first = planReserve({ ...rows, ended: [] }, request, place, today())
        const gone = 'refused' in first.result ? reservations.filter((each) => isEnded(each) && !replaced.includes(each)) : []
        const plan =
          gone.length === 0
            ? first
            : planReserve(
                { budgets: find([...names, ...gone.map(({ name }) => name)]), own: replaced, ended: gone },
                request,
                place,
                today(),
              )
        apply(plan.writes)
        return plan.result
      }),

    release: (claim, slot) =>
      write(() => {
        const lease = conversations.get(claim.conversationId)?.lease
        if (lease?.epoch !== claim.epoch || lease.owner?.id !== claim.ownerId) return
        enter(claim.conversationId, { charges: [{ slot, names: [], amount: { tokens: 0, micros: 0 } }] })
      }),

    read: (names) => write(() => current(find(names))),

    async list({ prefix = '', cursor, limit } = {}) {
      const size = pageSize({ limit: limit ?? 50 })
      const after = parseBudgetCursor(cursor)
      return write(() => {
        const names = sortedNames([...budgets.keys()].filter((name) => name.startsWith(prefix)))
        const first = after === undefined ? 0 : names.findIndex((name) => Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0)
        const rows = first < 0 ? [] : find(names.slice(first, first + size + 1))
        return budgetPage(current(rows), size)
      })
    },

    async setLimits(name, limits) {
      checkBudget(name, limits)
      return write(() => {
        const budget = withLimits(budgets.get(name) ?? newBudget(name), limits, today())
        budgets.set(name, budget)
        return current([budget])[0] as StoredBudget // `current` returns one budget for each that it gets
      })
    },

    remove: (name) => write(() => remove(name)),

    hasLimits: () => write(() => [...budgets.values()].some(({ limits }) => limits !== null)),
  }
  /**
   * Removes the budgets with these names, and the budgets whose names begin with one of the prefixes. Returns how many budgets were
   * removed.
   */
  const removeOf = ({ budgets: names, budgetPrefixes }: SubjectNames): number =>
    [...budgets.keys()].filter((name) => names.includes(name) || budgetPrefixes.some((prefix) => name.startsWith(prefix))).filter(remove)
      .length

  return { port, enter, remove, removeOf }
}
