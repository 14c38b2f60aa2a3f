import { nothing } from '../../../core/shared-budget.ts'
import type { BudgetEntry, Budgets, StoredBudget } from '../../../ports/store/budgets.ts'
import {
  BUDGET_COLUMNS,
  type BudgetColumns,
  type BudgetWrites,
  budgetPage,
  checkBudget,
  currentBudgets,
  dayOf,
  fromColumns,
  namesInEntry,
  namesToCreate,
  newBudget,
  parseBudgetCursor,
  planEntry,
  planReserve,
  type Reservation,
  type ReservationColumns,
  sortedNames,
  toColumns,
  toReservation,
  withLimits,
} from '../shared/budgets.ts'
import { firstAfter, pageSize } from '../shared/conversation-info.ts'
import { claimedRow } from '../shared/conversation-row.ts'
import type { Conversations } from './conversations.ts'
import type { Database, Statement } from './database.ts'

/**
 * SQL that selects the reservations of a budget that have ended at the time `?2`. A reservation ends when its conversation no longer has a
 * lease with the epoch of the reservation.
 */
const ENDED = `SELECT reservations.* FROM reservations LEFT JOIN conversations ON key = conversation
  WHERE name = ?1 AND NOT coalesce(deleted_at IS NULL AND owner_id IS NOT NULL AND conversations.epoch = reservations.epoch AND lease_expires_at > ?2, 0)`
const FIND = 'SELECT * FROM budgets WHERE name = ?'

/** The tables of budgets. */
export function createSqliteBudgets(database: Database, conversations: Pick<Conversations, 'find'>, now: () => string) {
  const { readStatement, writeStatement } = database
  const find = writeStatement<BudgetColumns>(FIND)
  const ended = writeStatement<ReservationColumns>(ENDED)
  const readBudget = readStatement<BudgetColumns>(FIND)
  const readEnded = readStatement<ReservationColumns>(ENDED)
  const own = writeStatement<ReservationColumns>('SELECT * FROM reservations WHERE conversation = ? AND slot = ?')
  const put = writeStatement(`INSERT INTO budgets (${BUDGET_COLUMNS.join(', ')}) VALUES (${BUDGET_COLUMNS.map(() => '?').join(', ')})`)
  const update = writeStatement(
    `UPDATE budgets SET ${BUDGET_COLUMNS.map((column, index) => `${column} = ?${index + 1}`).join(', ')} WHERE name = ?1`,
  )
  const remove = writeStatement('DELETE FROM budgets WHERE name = ?')
  const insertReservation = writeStatement('INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?)')
  const deleteReservation = writeStatement('DELETE FROM reservations WHERE name = ? AND conversation = ? AND slot = ?')
  const list = readStatement<BudgetColumns>(
    'SELECT * FROM budgets WHERE name > ?1 AND name >= ?2 AND (?3 IS NULL OR name < ?3) ORDER BY name LIMIT ?4',
  )
  const anyLimits = readStatement('SELECT 1 FROM budgets WHERE limits IS NOT NULL LIMIT 1')

  const findAll = (names: readonly string[]): readonly StoredBudget[] =>
    names.flatMap((name) => {
      const row = find.get(name)
      return row ? [fromColumns(row)] : []
    })
  const ownReservations = (key: number, slot: string): readonly Reservation[] => own.all(key, slot).map(toReservation)
  const endedOf = (statement: Statement<ReservationColumns>, names: readonly string[]): readonly Reservation[] =>
    names.flatMap((name) => statement.all(name, now()).map(toReservation))

  function write({ budgets, removed, added }: BudgetWrites): void {
    for (const budget of budgets) {
      const columns = toColumns(budget)
      update.run(...BUDGET_COLUMNS.map((column) => columns[column]))
    }
    for (const { name, conversation, slot } of removed) deleteReservation.run(name, conversation, slot)
    for (const { name, conversation, slot, epoch, amount } of added)
      insertReservation.run(name, conversation, slot, epoch, amount.tokens, amount.micros)
  }

  function createMissing(names: readonly string[]): void {
    for (const name of names) if (!find.get(name)) putNew(name)
  }
  function putNew(name: string): void {
    const columns = toColumns(newBudget(name))
    put.run(...BUDGET_COLUMNS.map((column) => columns[column]))
  }

  /** Applies the charges and raises of an append to the budgets. Call it inside the transaction of the append. */
  function enter(key: number, entry: BudgetEntry): void {
    const reservations = (entry.charges ?? []).flatMap(({ slot }) => ownReservations(key, slot))
    const names = namesInEntry(entry)
    createMissing(names)
    const budgets = findAll(sortedNames([...names, ...reservations.map(({ name }) => name)]))
    write(planEntry({ budgets, own: reservations }, entry, dayOf(now())))
  }

  const port: Budgets = {
    reserve: (claim, request) =>
      database.writeTogether(() => {
        const { key } = claimedRow(claim, conversations.find(claim.conversationId))
        createMissing(namesToCreate(request))
        const reservations = ownReservations(key, request.slot)
        const names = sortedNames([...request.budgets, ...reservations].map(({ name }) => name))
        const rows = { budgets: findAll(names), own: reservations }
        const place = { conversation: key, slot: request.slot, epoch: claim.epoch }
        const today = dayOf(now())
        const first = planReserve({ ...rows, ended: [] }, request, place, today)
        const isOwn = ({ conversation, slot }: Reservation) => conversation === key && slot === request.slot
        const gone = 'refused' in first.result ? endedOf(ended, names).filter((each) => !isOwn(each)) : []
        const plan = gone.length === 0 ? first : planReserve({ ...rows, ended: gone }, request, place, today)
        write(plan.writes)
        return plan.result
      }),

    release: (claim, slot) =>
      database.writeTogether(() => {
        const row = conversations.find(claim.conversationId)
        if (row?.epoch === claim.epoch && row.owner_id === claim.ownerId)
          enter(row.key, { charges: [{ slot, names: [], amount: nothing }] })
      }),

    read: async (names) =>
      database.read(() => {
        const rows = sortedNames(names)
          .flatMap((name) => readBudget.get(name) ?? [])
          .map(fromColumns)
        return currentBudgets(rows, endedOf(readEnded, names), dayOf(now()))
      }),

    async list({ prefix = '', cursor, limit } = {}) {
      const size = pageSize({ limit: limit ?? 50 })
      const after = parseBudgetCursor(cursor) ?? ''
      return database.read(() => {
        const rows = list.all(after, prefix, firstAfter(prefix) ?? null, size + 1).map(fromColumns)
        const names = rows.map(({ name }) => name)
        return budgetPage(currentBudgets(rows, endedOf(readEnded, names), dayOf(now())), size)
      })
    },

    async setLimits(name, limits) {
      checkBudget(name, limits)
      return database.write(() => {
        createMissing([name])
        const budget = withLimits(fromColumns(find.get(name) as BudgetColumns), limits, dayOf(now())) // the row was just created
        write({ budgets: [budget], removed: [], added: [] })
        return currentBudgets([budget], endedOf(ended, [name]), dayOf(now()))[0] as StoredBudget
      })
    },

    remove: (name) => database.write(() => remove.run(name) > 0),
    hasLimits: async () => database.read(() => anyLimits.get() !== undefined),
  }
  return { port, enter }
}

export type SqliteBudgets = ReturnType<typeof createSqliteBudgets>
