import { z } from 'zod'
import { foldCase } from '../text/words.ts'
import { averageOf, compare, type Decimal, decimalOf, decimalText, sumOf } from './decimal.ts'
import type { UnknownWords } from './question.ts'
import { type Column, cellOf, numbersIn, type Row, type Table } from './table.ts'

/** What is asked of a table. */
export interface Query {
  readonly measure: 'count' | 'distinct' | 'sum' | 'average' | 'minimum' | 'maximum' | 'rows'
  /** What is measured; of a count, nothing. */
  readonly column: Column | undefined
  readonly filters: readonly Filter[]
  readonly groupBy: Column | undefined
  /** Only so many rows or groups: the highest, or the lowest. */
  readonly best: { readonly count: number; readonly order: 'highest' | 'lowest' } | undefined
  readonly notUnderstood: UnknownWords
}

export type Filter =
  | { readonly column: Column; readonly test: 'is'; readonly value: string }
  | { readonly column: Column; readonly test: 'one of'; readonly value: readonly string[]; readonly word: string }
  | { readonly column: Column; readonly test: 'begins'; readonly value: string }
  | { readonly column: Column; readonly test: 'month'; readonly value: number }
  | { readonly column: Column; readonly test: 'more' | 'less' | 'at least' | 'at most'; readonly value: Decimal }

/** What came out, and the rows it rests on. */
export interface QueryResult {
  /** The number, as digits; undefined when rows are the answer. */
  readonly value: string | undefined
  readonly exact: boolean
  /** The rows that were looked at. */
  readonly considered: readonly Row[]
  /** The rows that are the answer: all that match, or the best of them. */
  readonly rows: readonly Row[]
  readonly groups: readonly Group[]
}

export interface Group {
  readonly name: string
  readonly value: string
  readonly rows: readonly Row[]
}

export function runQuery(table: Table, query: Query): QueryResult {
  const considered = table.rows.filter((row) => query.filters.every((filter) => passes(row, filter)))
  const nothing = { value: undefined, exact: true, considered, rows: considered, groups: [] }
  if (query.groupBy) return { ...nothing, groups: groupsOf(considered, query, query.groupBy) }
  if (query.best && query.column) return topRows(considered, query, query.column, nothing)
  if (query.measure === 'rows') return nothing
  const { text, exact } = measure(considered, query)
  return { ...nothing, value: text, exact }
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

function measure(rows: readonly Row[], { measure, column }: Pick<Query, 'measure' | 'column'>): { text: string; exact: boolean } {
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

/** Ties belong to the answer: two rows may be the highest. */
function topRows(rows: readonly Row[], { best, measure }: Query, column: Column, nothing: QueryResult): QueryResult {
  const order = best?.order === 'lowest' ? 1 : -1
  const sorted = rows
    .filter((row) => cellOf(row, column.index) !== '')
    .toSorted((a, b) => order * compareCells(cellOf(a, column.index), cellOf(b, column.index)))
  const last = sorted[Math.min(best?.count ?? 1, sorted.length) - 1]
  if (!last) return { ...nothing, rows: [] }
  const bound = cellOf(last, column.index)
  const chosen = sorted.filter((row) => order * compareCells(cellOf(row, column.index), bound) <= 0)
  return { ...nothing, value: measure === 'rows' ? undefined : bound, rows: chosen }
}

function compareCells(a: string, b: string): number {
  const [left, right] = [decimalOf(a), decimalOf(b)]
  return left && right ? compare(left, right) : a < b ? -1 : a > b ? 1 : 0
}

function groupsOf(rows: readonly Row[], query: Query, by: Column): readonly Group[] {
  const members = new Map<string, Row[]>()
  for (const row of rows) {
    const name = cellOf(row, by.index)
    const own = members.get(name)
    if (own) own.push(row)
    else members.set(name, [row])
  }
  const groups = [...members].map(([name, own]) => ({ name, value: measure(own, query).text, rows: own }))
  const { best } = query
  if (!best) return groups
  const number = ({ value }: Group): Decimal => decimalOf(value) ?? { units: 0n, scale: 0 }
  const order = best.order === 'lowest' ? 1 : -1
  const sorted = groups.toSorted((a, b) => order * compare(number(a), number(b)))
  const last = sorted[Math.min(best.count, sorted.length) - 1]
  return last ? sorted.filter((group) => order * compare(number(group), number(last)) <= 0) : []
}

/** What is told of an answer: by this model or by a program, which writes it down. */
export const ProgramResult = z.object({
  value: z.string().optional(),
  exact: z.boolean(),
  /** Of the table, of those that match, of those that are the answer. */
  rows: z.number().int(),
  matching: z.number().int(),
  chosen: z.number().int(),
  numbers: z.array(z.number().int()),
  shown: z.array(z.object({ number: z.number().int(), line: z.number().int(), raw: z.string() })),
  groups: z.array(z.object({ name: z.string(), value: z.string(), numbers: z.array(z.number().int()) })),
})
export type ProgramResult = z.infer<typeof ProgramResult>

const [mostShown, mostNumbers, mostGroups, mostInGroup] = [6, 400, 40, 40]

export function toProgramResult({ rows: all }: Table, { value, exact, considered, rows, groups }: QueryResult): ProgramResult {
  return {
    ...(value !== undefined && { value }),
    exact,
    rows: all.length,
    matching: considered.length,
    chosen: rows.length,
    numbers: rows.slice(0, mostNumbers).map(({ number }) => number),
    shown: rows.slice(0, mostShown).map(({ number, line, raw }) => ({ number, line, raw: raw.slice(0, 500) })),
    groups: groups
      .slice(0, mostGroups)
      .map((group) => ({ name: group.name, value: group.value, numbers: group.rows.map(({ number }) => number).slice(0, mostInGroup) })),
  }
}
