import { z } from 'zod'
import { cutAt } from '../../core/cut.ts'
import { foldCase } from '../text/words.ts'
import { averageOf, compare, type Decimal, decimalOf, decimalText, sumOf } from './decimal.ts'
import type { UnknownWords } from './question.ts'
import { type Column, cellOf, numbersIn, type Row, type Table } from './table.ts'

/** A question about a table, as data. */
export interface Query {
  readonly measure: 'count' | 'distinct' | 'sum' | 'average' | 'minimum' | 'maximum' | 'rows'
  /** The column that is counted, summed or compared. Undefined when rows are counted. */
  readonly column: Column | undefined
  readonly filters: readonly Filter[]
  readonly groupBy: Column | undefined
  /** Limits the answer to the `count` rows or groups with the highest or lowest values. */
  readonly best: { readonly count: number; readonly order: 'highest' | 'lowest' } | undefined
  /** Words of the question that occur neither in the table nor in the list of usual question words. */
  readonly unknownWords: UnknownWords
}

/** A condition on one column that a row must meet. */
export type Filter =
  | { readonly column: Column; readonly test: 'is'; readonly value: string }
  | { readonly column: Column; readonly test: 'one of'; readonly value: readonly string[]; readonly word: string }
  | { readonly column: Column; readonly test: 'begins'; readonly value: string }
  | { readonly column: Column; readonly test: 'month'; readonly value: number }
  | { readonly column: Column; readonly test: 'more' | 'less' | 'at least' | 'at most'; readonly value: Decimal }

/** The result of a query, with the rows that it is computed from. */
interface QueryResult {
  /** The computed number in decimal digits. Undefined when the answer consists of rows or groups. */
  readonly value: string | undefined
  /** Whether the value is exact. False if it was rounded. */
  readonly exact: boolean
  /** The rows that meet all filters. */
  readonly matching: readonly Row[]
  /** The rows of the answer: all matching rows, or the highest or lowest of them. */
  readonly rows: readonly Row[]
  readonly groups: readonly Group[]
}

interface Group {
  readonly name: string
  readonly value: string
  readonly rows: readonly Row[]
}

export function runQuery(table: Table, query: Query): QueryResult {
  const matching = table.rows.filter((row) => query.filters.every((filter) => passes(row, filter)))
  const allMatching = { value: undefined, exact: true, matching, rows: matching, groups: [] }
  if (query.groupBy) return { ...allMatching, groups: groupsOf(matching, query, query.groupBy) }
  if (query.best && query.column) return topRows(matching, query, query.column, allMatching)
  if (query.measure === 'rows') return allMatching
  const { text, exact } = measureRows(matching, query)
  return { ...allMatching, value: text, exact }
}

function passes(row: Row, filter: Filter): boolean {
  const cell = cellOf(row, filter.column.index)
  if (filter.test === 'is') return foldCase(cell) === foldCase(filter.value)
  if (filter.test === 'one of') return filter.value.includes(cell)
  if (filter.test === 'begins') return cell.startsWith(filter.value)
  if (filter.test === 'month') return Number(cell.slice(5, 7)) === filter.value
  const number = decimalOf(cell)
  if (!number) return false
  const order = compare(number, filter.value)
  return { more: order > 0, less: order < 0, 'at least': order >= 0, 'at most': order <= 0 }[filter.test]
}

function measureRows(rows: readonly Row[], { measure, column }: Pick<Query, 'measure' | 'column'>): { text: string; exact: boolean } {
  if (!column || measure === 'count' || measure === 'rows') return { text: String(rows.length), exact: true }
  if (measure === 'distinct')
    return { text: String(new Set(rows.map((row) => cellOf(row, column.index)).filter((cell) => cell !== '')).size), exact: true }
  const numbers = numbersIn(rows, column)
  if (measure === 'average') {
    if (numbers.length === 0) return { text: '', exact: true }
    const { value, exact } = averageOf(numbers)
    return { text: decimalText(value), exact }
  }
  const sum = sumOf(numbers)
  return { text: decimalText(sum, sum.scale), exact: true }
}

/**
 * The rows with the `best.count` highest or lowest values. If further rows have the same value as the last of these rows, they are included
 * too.
 */
function topRows(rows: readonly Row[], { best, measure }: Query, column: Column, allMatching: QueryResult): QueryResult {
  const order = best?.order === 'lowest' ? 1 : -1
  const sorted = rows
    .filter((row) => cellOf(row, column.index) !== '')
    .toSorted((a, b) => order * compareCells(cellOf(a, column.index), cellOf(b, column.index)))
  const last = sorted[Math.min(best?.count ?? 1, sorted.length) - 1]
  if (!last) return { ...allMatching, rows: [] }
  const bound = cellOf(last, column.index)
  const chosen = sorted.filter((row) => order * compareCells(cellOf(row, column.index), bound) <= 0)
  return { ...allMatching, value: measure === 'rows' ? undefined : bound, rows: chosen }
}

function compareCells(a: string, b: string): number {
  const [left, right] = [decimalOf(a), decimalOf(b)]
  return left && right ? compare(left, right) : a < b ? -1 : a > b ? 1 : 0
}

function groupsOf(rows: readonly Row[], query: Query, by: Column): readonly Group[] {
  const members = new Map<string, Row[]>()
  for (const row of rows) {
    const name = cellOf(row, by.index)
    const group = members.get(name)
    if (group) group.push(row)
    else members.set(name, [row])
  }
  const groups = [...members].map(([name, rowsOfGroup]) => ({ name, value: measureRows(rowsOfGroup, query).text, rows: rowsOfGroup }))
  const { best } = query
  if (!best) return groups
  const number = ({ value }: Group): Decimal => decimalOf(value) ?? { units: 0n, scale: 0 }
  const order = best.order === 'lowest' ? 1 : -1
  const sorted = groups.toSorted((a, b) => order * compare(number(a), number(b)))
  const last = sorted[Math.min(best.count, sorted.length) - 1]
  return last ? sorted.filter((group) => order * compare(number(group), number(last)) <= 0) : []
}

/**
 * The result of a query in the form in which a program (program.ts) writes it to its answer file. `toProgramResult` converts a result that
 * was computed without a program.
 */
export const ProgramResult = z.object({
  value: z.string().optional(),
  exact: z.boolean(),
  /** How many rows the table has. */
  rows: z.number().int(),
  /** How many rows of the table meet all filters. */
  matching: z.number().int(),
  /** How many rows the answer has. */
  chosen: z.number().int(),
  /** The numbers of the rows in the answer. */
  numbers: z.array(z.number().int()),
  shown: z.array(z.object({ number: z.number().int(), line: z.number().int(), raw: z.string() })),
  groups: z.array(z.object({ name: z.string(), value: z.string(), numbers: z.array(z.number().int()) })),
})
export type ProgramResult = z.infer<typeof ProgramResult>

const limits = { shown: 6, numbers: 400, groups: 40, numbersInGroup: 40 } as const // the program in program.ts must have the same limits

export function toProgramResult({ rows: all }: Table, { value, exact, matching, rows, groups }: QueryResult): ProgramResult {
  return {
    ...(value !== undefined && { value }),
    exact,
    rows: all.length,
    matching: matching.length,
    chosen: rows.length,
    numbers: rows.slice(0, limits.numbers).map(({ number }) => number),
    shown: rows.slice(0, limits.shown).map(({ number, line, raw }) => ({ number, line, raw: cutAt(raw, 500) })),
    groups: groups.slice(0, limits.groups).map((group) => ({
      name: group.name,
      value: group.value,
      numbers: group.rows.map(({ number }) => number).slice(0, limits.numbersInGroup),
    })),
  }
}
