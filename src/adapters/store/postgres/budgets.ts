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
import { isStorableId } from './conversation-columns.ts'
import { type Conversations, LOCK } from './conversations.ts'
import type { Database, Queries } from './database.ts'

type Reads = Pick<Queries, 'all'>

const COLUMNS = BUDGET_COLUMNS.join(', ')

/**
 * The tables of budgets. A transaction locks the row of its conversation first, and then the rows of its budgets in the order of their names.
 * The reservations of a budget are changed only while its row is locked.
 */
export function createPostgresBudgets(database: Database, conversations: Pick<Conversations, 'find'>, now: () => string) {
  const find = async ({ all }: Reads, names: readonly string[], lock = ''): Promise<readonly StoredBudget[]> =>
    names.length === 0
      ? []
      : (await all<BudgetColumns>(`SELECT ${COLUMNS} FROM budgets WHERE name = ANY($1::text[]) ORDER BY name ${lock}`, [names])).map(
          fromColumns,
        )

  /** Finds and locks the budgets. The budgets in `needed` are created if they do not exist. */
  async function lockBudgets(queries: Queries, names: readonly string[], needed: readonly string[]): Promise<readonly StoredBudget[]> {
    const found = await find(queries, names, LOCK)
    const missing = needed.filter((name) => !found.some((budget) => budget.name === name))
    if (missing.length === 0) return found
    await queries.run('INSERT INTO budgets (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [missing])
    return find(queries, names, LOCK)
  }

  const ownReservations = async (queries: Reads, key: number, slots: readonly string[]): Promise<readonly Reservation[]> => {
    const sql = 'SELECT * FROM reservations WHERE conversation = $1 AND slot = ANY($2::text[])'
    return (await queries.all<ReservationColumns>(sql, [key, slots])).map(toReservation)
  }

  /**
   * The reservations that have ended. A reservation has ended when its conversation no longer has a lease with the epoch of the
   * reservation.
   */
  async function endedReservations({ all }: Reads, names: readonly string[]): Promise<readonly Reservation[]> {
    const sql = `SELECT reservations.* FROM reservations LEFT JOIN conversations ON key = conversation
      WHERE name = ANY($1::text[]) AND NOT coalesce(
        deleted_at IS NULL AND owner_id IS NOT NULL AND conversations.epoch = reservations.epoch AND lease_expires_at COLLATE "C" > $2, false)`
    return (await all<ReservationColumns>(sql, [names, now()])).map(toReservation)
  }

  async function write(queries: Queries, { budgets, removed, added }: BudgetWrites): Promise<void> {
    if (removed.length > 0) {
      const sql = `DELETE FROM reservations USING unnest($1::text[], $2::bigint[], $3::text[]) AS gone (name, conversation, slot)
        WHERE reservations.name = gone.name AND reservations.conversation = gone.conversation AND reservations.slot = gone.slot`
      await queries.run(sql, [removed.map(({ name }) => name), removed.map((each) => each.conversation), removed.map(({ slot }) => slot)])
    }
    if (budgets.length > 0) {
      const sql = `UPDATE budgets SET ${BUDGET_COLUMNS.slice(1)
        .map((column) => `${column} = changed.${column}`)
        .join(', ')}
        FROM json_populate_recordset(NULL::budgets, $1) AS changed WHERE budgets.name = changed.name`
      await queries.run(sql, [JSON.stringify(budgets.map(toColumns))])
    }
    if (added.length > 0) {
      const rows = added.map(({ amount, ...row }) => ({ ...row, ...amount }))
      await queries.run('INSERT INTO reservations SELECT * FROM json_populate_recordset(NULL::reservations, $1)', [JSON.stringify(rows)])
    }
  }

  /**
   * Applies the charges and raises of an append to the budgets. Call it inside the transaction of the append, which has locked the row of
   * the conversation.
   */
  async function enter(queries: Queries, key: number, entry: BudgetEntry): Promise<void> {
    const slots = (entry.charges ?? []).map(({ slot }) => slot)
    const needed = namesInEntry(entry)
    const names = sortedNames([...needed, ...(await ownReservations(queries, key, slots)).map(({ name }) => name)])
    const budgets = await lockBudgets(queries, names, needed)
    // if the lease had ended, another process may have removed some of the reservations
    const own = await ownReservations(queries, key, slots)
    await write(queries, planEntry({ budgets, own }, entry, dayOf(now())))
  }

  const readAll = (work: (queries: Queries) => Promise<readonly StoredBudget[]>) =>
    database.read(async (queries) => {
      const rows = await work(queries)
      const ended =
        rows.length === 0
          ? []
          : await endedReservations(
              queries,
              rows.map(({ name }) => name),
            )
      return currentBudgets(rows, ended, dayOf(now()))
    })

  const port: Budgets = {
    reserve: (claim, request) =>
      database.repeat(async (queries) => {
        const { key } = claimedRow(claim, await conversations.find(queries, claim.conversationId, LOCK))
        const { slot } = request
        const before = await ownReservations(queries, key, [slot])
        const names = sortedNames([...request.budgets, ...before].map(({ name }) => name))
        const budgets = await lockBudgets(queries, names, namesToCreate(request))
        if (budgets.length === 0) return { granted: [] }
        const own = before.length === 0 ? before : await ownReservations(queries, key, [slot])
        const place = { conversation: key, slot, epoch: claim.epoch }
        const today = dayOf(now())
        const first = planReserve({ budgets, own, ended: [] }, request, place, today)
        const isOwn = (each: Reservation) => each.conversation === key && each.slot === slot
        const ended = 'refused' in first.result ? (await endedReservations(queries, names)).filter((each) => !isOwn(each)) : []
        const plan = ended.length === 0 ? first : planReserve({ budgets, own, ended }, request, place, today)
        await write(queries, plan.writes)
        return plan.result
      }),

    release: (claim, slot) =>
      database.repeat(async (queries) => {
        const row = await conversations.find(queries, claim.conversationId, LOCK)
        if (row?.epoch !== claim.epoch || row.owner_id !== claim.ownerId) return
        await enter(queries, row.key, { charges: [{ slot, names: [], amount: nothing }] })
      }),

    read: (names) => readAll((queries) => find(queries, sortedNames(names.filter(isStorableId)))),

    async list({ prefix = '', cursor, limit } = {}) {
      const size = pageSize({ limit: limit ?? 50 })
      const after = parseBudgetCursor(cursor) ?? ''
      if (!isStorableId(prefix)) return { budgets: [] }
      const sql = `SELECT ${COLUMNS} FROM budgets WHERE name > $1 AND name >= $2 AND ($3::text IS NULL OR name < $3) ORDER BY name LIMIT $4`
      const values = [after, prefix, firstAfter(prefix) ?? null, size + 1]
      return budgetPage(await readAll(async ({ all }) => (await all<BudgetColumns>(sql, values)).map(fromColumns)), size)
    },

    async setLimits(name, limits) {
      checkBudget(name, limits)
      return database.repeat(async (queries) => {
        const [found] = await lockBudgets(queries, [name], [name])
        const budget = withLimits(found as StoredBudget, limits, dayOf(now())) // `lockBudgets` has created the budget
        await write(queries, { budgets: [budget], removed: [], added: [] })
        return currentBudgets([budget], await endedReservations(queries, [name]), dayOf(now()))[0] as StoredBudget
      })
    },

    remove: async (name) =>
      isStorableId(name) && (await database.repeat(({ run }) => run('DELETE FROM budgets WHERE name = $1', [name]))) > 0,
    hasLimits: async () => (await database.all('SELECT 1 FROM budgets WHERE limits IS NOT NULL LIMIT 1')).length > 0,
  }
  return { port, enter }
}

export type PostgresBudgets = ReturnType<typeof createPostgresBudgets>
