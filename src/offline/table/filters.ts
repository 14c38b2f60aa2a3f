import { contentWords, foldCase, wordsOf } from '../text/words.ts'
import { type Decimal, decimalOf } from './decimal.ts'
import type { Filter } from './query.ts'
import type { Table } from './table.ts'
import { type Column, cellOf } from './table.ts'

const comparisons: readonly (readonly [RegExp, Extract<Filter, { value: Decimal }>['test']])[] = [
  [/(?:more|greater|higher|larger|bigger|older) than|above|over|exceeding|mehr als|grosser als|uber|>(?!=)/, 'more'],
  [/(?:less|fewer|lower|smaller|cheaper|younger) than|below|under|weniger als|kleiner als|unter|<(?!=)/, 'less'],
  [/at least|no less than|mindestens|>=/, 'at least'],
  [/at most|no more than|up to|hochstens|<=/, 'at most'],
]

const months = 'january february march april may june july august september october november december'.split(' ')

/** Which rows a question is about, and its words without those that say so. */
export function parseFilters(
  question: string,
  table: Table,
  columns: readonly Column[],
): { readonly filters: readonly Filter[]; readonly rest: string } {
  const text = foldCase(question)
  const compared = parseComparisons(text, columns)
  const dated = parseDates(compared.rest, columns)
  const valued = parseValues(dated.rest, table, columns)
  const partly = parsePartialValues(valued, table, columns)
  return { filters: [...partly.filters, ...dated.filters, ...compared.filters], rest: partly.rest }
}

interface FilterMatches {
  readonly filters: readonly Filter[]
  readonly rest: string
}

/** "revenue above 1,000": the number's column is the one named nearest before it, else after it, else the only one. */
function parseComparisons(text: string, columns: readonly Column[]): FilterMatches {
  const numeric = columns.filter(({ kind }) => kind === 'number')
  const filters: Filter[] = []
  let rest = text
  for (const [pattern, test] of comparisons) {
    const match = new RegExp(`(?:^|[^\\p{L}])(?:${pattern.source})\\s*[€$£]?\\s*(\\d[\\d.,]*\\d|\\d)`, 'u').exec(rest)
    const value = match ? decimalOf(match[1] as string) : undefined
    if (!match || !value) continue
    const column = nearestColumn(rest, match.index, numeric) ?? (numeric.length === 1 ? numeric[0] : undefined)
    if (!column) continue
    filters.push({ column, test, value })
    rest = `${rest.slice(0, match.index)} ${rest.slice(match.index + match[0].length)}`
  }
  return { filters, rest }
}

function nearestColumn(text: string, at: number, columns: readonly Column[]): Column | undefined {
  const named = (words: string) => {
    const stems = wordsOf(words).map(({ stem }) => stem)
    const place = ({ stems: own }: Column) => Math.max(...own.map((stem) => stems.lastIndexOf(stem)))
    return { stems, found: columns.filter((column) => place(column) >= 0).sort((a, b) => place(b) - place(a)) }
  }
  return named(text.slice(0, at)).found[0] ?? named(text.slice(at)).found.at(-1)
}

/** "in 2024", "in March": where there is a column of dates. */
function parseDates(text: string, columns: readonly Column[]): FilterMatches {
  const column = columns.find(({ kind }) => kind === 'date')
  if (!column) return { filters: [], rest: text }
  const [exact] = /\b\d{4}-\d{2}(?:-\d{2})?\b/.exec(text) ?? []
  const month = months.findIndex((name) => new RegExp(`\\b(?:in|during|of|on|im) ${name}\\b`).test(text))
  const year = exact === undefined ? /\b(?:19|20)\d{2}\b/.exec(text)?.[0] : undefined
  const prefix = exact ?? year
  const filters: readonly Filter[] = [
    ...(prefix === undefined ? [] : [{ column, test: 'begins' as const, value: prefix }]),
    ...(month < 0 ? [] : [{ column, test: 'month' as const, value: month + 1 }]),
  ]
  return { filters, rest: prefix === undefined ? text : text.replace(prefix, ' ') }
}

/** Values of the table that stand in the question, the longest first. What names a column names no value. */
function parseValues(text: string, { rows }: Table, columns: readonly Column[]): FilterMatches {
  const names = new Set(columns.flatMap(({ stems }) => (stems.length === 1 ? stems : [])))
  const values = columns
    .filter(({ kind }) => kind === 'text')
    .flatMap((column) => [...new Set(rows.map((row) => cellOf(row, column.index)))].map((value) => ({ column, value })))
    .filter(({ value }) => value.length >= 2 && value.length <= 80)
    .sort((a, b) => b.value.length - a.value.length)
  const filters: Filter[] = []
  let rest = ` ${text} `
  for (const { column, value } of values) {
    const words = wordsOf(value).map(({ stem }) => stem)
    if (words.length === 0 || (words.length === 1 && names.has(words[0] as string))) continue
    const found = findWholeWord(rest, foldCase(value))
    if (found === undefined || filters.some((filter) => filter.column === column && filter.test === 'is')) continue
    filters.push({ column, test: 'is', value })
    rest = `${rest.slice(0, found)} ${rest.slice(found + foldCase(value).length)}`
  }
  return { filters, rest }
}

/** A word of some values, where none was named whole: "cups" means "Cups, blue" and "Cups, red". */
function parsePartialValues({ filters, rest }: FilterMatches, { rows }: Table, columns: readonly Column[]): FilterMatches {
  const taken = new Set([...filters.map(({ column }) => column), ...columns.filter(({ kind }) => kind !== 'text')])
  const names = new Set(columns.flatMap(({ stems }) => stems))
  for (const { stem, text } of contentWords(rest).filter((word) => word.stem.length >= 3 && !names.has(word.stem))) {
    for (const column of columns.filter((each) => !taken.has(each))) {
      const values = [...new Set(rows.map((row) => cellOf(row, column.index)))]
      const having = values.filter((value) => wordsOf(value).some((word) => word.stem === stem))
      if (having.length === 0 || having.length === values.length) continue
      const filter: Filter = { column, test: 'one of', value: having, word: text }
      return { filters: [...filters, filter], rest: rest.replace(text, ' ') }
    }
  }
  return { filters, rest }
}

/** As whole words; a plural may follow. */
function findWholeWord(text: string, value: string): number | undefined {
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
    const before = text[at - 1] ?? ' '
    const after = text.slice(at + value.length, at + value.length + 2)
    if (!/[\p{L}\p{N}]/u.test(before) && /^(?:s?(?![\p{L}\p{N}]))/u.test(after)) return at
  }
  return undefined
}
