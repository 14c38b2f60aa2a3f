import { Failure } from '../../../core/failure.ts'
import {
  type Amount,
  type AmountLimits,
  addAmounts,
  type BudgetSums,
  budgetKindOf,
  checkRequest,
  invalidBudgetName,
  limitsOf,
  nothing,
  onDay,
  subtractAmounts,
} from '../../../core/shared-budget.ts'
import type { BudgetEntry, ReserveRequest, ReserveResult, StoredBudget, StoredBudgetPage } from '../../../ports/store/budgets.ts'
import { compareBytes } from './conversation-info.ts'

/**
 * The rules of budgets, as pure functions. A store reads rows, passes them to a plan function, and writes the rows of the plan in the same
 * transaction.
 */

/** The reservation of a slot in one budget. `conversation` is the key of the conversation in the store. */
export interface Reservation {
  readonly name: string
  readonly conversation: number | string
  readonly slot: string
  readonly epoch: number
  readonly amount: Amount
}

/** The rows that a plan function needs. */
export interface BudgetRows {
  readonly budgets: readonly StoredBudget[]
  /** The reservations that the plan replaces or ends. */
  readonly own: readonly Reservation[]
  /** Reservations whose lease has ended. */
  readonly ended: readonly Reservation[]
}

/** The rows to write. */
export interface BudgetWrites {
  readonly budgets: readonly StoredBudget[]
  readonly removed: readonly Reservation[]
  readonly added: readonly Reservation[]
}

export const newBudget = (name: string): StoredBudget => ({
  ...{ name, limits: null, extra: nothing, spent: nothing, reserved: nothing, day: null },
})

/** The day of a time, in UTC. */
export const dayOf = (now: string): string => now.slice(0, 10)

/** The names of the budgets that a request or an entry may change, in the order in which their rows are locked. */
export const sortedNames = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort(compareBytes)

/** The names in a request for which the settings have limits. The rows of these budgets have to exist. */
export const namesToCreate = ({ budgets }: ReserveRequest): readonly string[] =>
  sortedNames(budgets.flatMap(({ name, usual }) => (usual ? [name] : [])))

/** The names that an entry changes. Their rows have to exist. */
export const namesInEntry = ({ charges = [], raises = [] }: BudgetEntry): readonly string[] =>
  sortedNames([...charges.flatMap(({ names }) => names), ...raises.map(({ name }) => name)])

type Place = Pick<Reservation, 'conversation' | 'slot' | 'epoch'>

/**
 * Plans a reservation. If the request is refused, a store may look for reservations whose lease has ended, and plan again with these in
 * `ended`.
 */
export function planReserve(
  rows: BudgetRows,
  request: ReserveRequest,
  place: Place,
  today: string,
): { readonly result: ReserveResult; readonly writes: BudgetWrites } {
  const removed = [...rows.own, ...rows.ended]
  const budgets = withoutReservations(rows.budgets, removed, today)
  const charged = request.budgets.flatMap(({ name, usual }) => {
    const budget = budgets.get(name)
    return budget && limitsOf(budget, usual) ? [{ budget, usual }] : []
  })
  for (const { budget, usual } of charged) {
    const check = checkRequest(budget, usual, request.amount)
    if (check !== 'fits') {
      return { result: { refused: budget, because: check }, writes: { budgets: [...budgets.values()], removed, added: [] } }
    }
  }
  const amount: Amount = { tokens: request.amount.tokens, micros: request.amount.micros ?? 0 }
  for (const { budget } of charged) budgets.set(budget.name, { ...budget, reserved: addAmounts(budget.reserved, amount) })
  const granted = charged.map(({ budget }) => budget.name)
  const added = granted.map((name) => ({ ...place, name, amount }))
  return { result: { granted }, writes: { budgets: [...budgets.values()], removed, added } }
}

/** Plans the charges and raises of an append. `own` are the reservations of the charged slots. */
export function planEntry(rows: Omit<BudgetRows, 'ended'>, { charges = [], raises = [] }: BudgetEntry, today: string): BudgetWrites {
  const budgets = withoutReservations(rows.budgets, rows.own, today)
  const change = (name: string, next: (budget: StoredBudget) => Partial<BudgetSums>) => {
    const budget = budgets.get(name) ?? onDay(name, newBudget(name), today)
    budgets.set(name, { ...budget, ...next(budget) })
  }
  for (const { names, amount } of charges) for (const name of names) change(name, ({ spent }) => ({ spent: addAmounts(spent, amount) }))
  for (const { name, amount } of raises) change(name, ({ extra }) => ({ extra: addAmounts(extra, amount) }))
  return { budgets: [...budgets.values()], removed: rows.own, added: [] }
}

/** The budgets after these reservations have ended. */
function withoutReservations(rows: readonly StoredBudget[], removed: readonly Reservation[], today: string): Map<string, StoredBudget> {
  const budgets = new Map(rows.map((row) => [row.name, onDay(row.name, row, today)]))
  for (const { name, amount } of removed) {
    const budget = budgets.get(name)
    if (budget) budgets.set(name, { ...budget, reserved: subtractAmounts(budget.reserved, amount) })
  }
  return budgets
}

/** The budgets of these rows at this moment, without the reservations whose lease has ended. */
export const currentBudgets = (rows: readonly StoredBudget[], ended: readonly Reservation[], today: string): readonly StoredBudget[] => [
  ...withoutReservations(rows, ended, today).values(),
]

/** The budget with new limits. They replace the old limits and also `extra`, the amount that was allowed beyond the old limits. */
export const withLimits = (budget: StoredBudget, limits: AmountLimits | null, today: string): StoredBudget => ({
  ...onDay(budget.name, budget, today),
  limits,
  extra: nothing,
})

/** Throws `budget.invalid` if the name is not a valid name of a budget, or if a limit is not a whole number. */
export function checkBudget(name: string, limits: AmountLimits | null = null): void {
  if (budgetKindOf(name) === undefined || Buffer.byteLength(name) > MAX_NAME_BYTES || name.includes('\0')) throw invalidBudgetName(name)
  for (const value of [limits?.tokens, limits?.micros]) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) continue
    throw new Failure(
      'budget.invalid',
      'the limits of a budget must be whole numbers and not negative: tokens, and money in millionths of a US dollar',
    )
  }
}

/** The longest name of a budget. A row in an index of PostgreSQL has at most 2,704 bytes. */
const MAX_NAME_BYTES = 2_000

/** A page of at most `size` budgets. If there is a next page, `rows` must contain one row more than `size`. */
export function budgetPage(rows: readonly StoredBudget[], size: number): StoredBudgetPage {
  const budgets = rows.slice(0, size)
  const last = budgets.at(-1)
  return { budgets, ...(rows.length > size && last && { next: Buffer.from(last.name).toString('base64url') }) }
}

/** Parses the text that `budgetPage` returned as `next`. Other text throws `cursor.invalid`. */
export function parseBudgetCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined
  const name = Buffer.from(cursor, 'base64url').toString()
  if (budgetKindOf(name) !== undefined && !name.includes('\0')) return name
  throw new Failure('cursor.invalid', 'the cursor is not from this list: start again without a cursor')
}

/** A budget as the tables of SQLite and PostgreSQL have it. */
export interface BudgetColumns {
  readonly name: string
  /** JSON of the limits, or null. */
  readonly limits: string | null
  readonly extra_tokens: number
  readonly extra_micros: number
  readonly spent_tokens: number
  readonly spent_micros: number
  readonly reserved_tokens: number
  readonly reserved_micros: number
  readonly day: string | null
}

export const BUDGET_COLUMNS = [
  ...(['name', 'limits', 'extra_tokens', 'extra_micros', 'spent_tokens', 'spent_micros'] as const),
  ...(['reserved_tokens', 'reserved_micros', 'day'] as const),
] satisfies readonly (keyof BudgetColumns)[]

/** SQL for the columns that are copied to another store. Reserved amounts are copied as 0. */
export const COPIED_BUDGETS = BUDGET_COLUMNS.map((column) => (column.startsWith('reserved_') ? `0 AS ${column}` : column)).join(', ')

export const toColumns = ({ name, limits, extra, spent, reserved, day }: StoredBudget): BudgetColumns => ({
  ...{ name, limits: limits && JSON.stringify(limits), day },
  ...{ extra_tokens: extra.tokens, extra_micros: extra.micros },
  ...{ spent_tokens: spent.tokens, spent_micros: spent.micros },
  ...{ reserved_tokens: reserved.tokens, reserved_micros: reserved.micros },
})

export const fromColumns = (row: BudgetColumns): StoredBudget => ({
  name: row.name,
  limits: row.limits === null ? null : (JSON.parse(row.limits) as AmountLimits), // only `toColumns` writes it
  extra: { tokens: row.extra_tokens, micros: row.extra_micros },
  spent: { tokens: row.spent_tokens, micros: row.spent_micros },
  reserved: { tokens: row.reserved_tokens, micros: row.reserved_micros },
  day: row.day,
})

/** A reservation as the tables have it. */
export interface ReservationColumns {
  readonly name: string
  readonly conversation: number
  readonly slot: string
  readonly epoch: number
  readonly tokens: number
  readonly micros: number
}

export const toReservation = ({ tokens, micros, ...row }: ReservationColumns): Reservation => ({ ...row, amount: { tokens, micros } })
