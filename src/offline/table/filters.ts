import { contentWords, foldCase, wordsOf } from '../text/words.ts'
import { type Decimal, decimalOf } from './decimal.ts'
import type { Filter } from './query.ts'
import { type Column, cellOf, type Table } from './table.ts'

const comparisons: readonly (readonly [RegExp, Extract<Filter, { value: Decimal }>['test']])[] = [
  [/(?:more|greater|higher|larger|bigger|older) than|above|over|exceeding|mehr als|grosser als|uber|>(?!=)/, 'more'],
  [/(?:less|fewer|lower|smaller|cheaper|younger) than|below|under|weniger als|kleiner als|unter|<(?!=)/, 'less'],
  [/at least|no less than|mindestens|>=/, 'at least'],
  [/at most|no more than|up to|hochstens|<=/, 'at most'],
]

const months = 'january february march april may june july august september october november december'.split(' ')

/** The filters in a question, and the question without the words that became filters. */
export function parseFilters(question: string, table: Table, columns: readonly Column[]): FilterMatches {
  const comparisonMatches = parseComparisons(foldCase(question), columns)
  const dateMatches = parseDates(comparisonMatches.rest, columns)
  const valueMatches = parsePartialValues(parseValues(dateMatches.rest, table, columns), table, columns)
  return { filters: [...valueMatches.filters, ...dateMatches.filters, ...comparisonMatches.filters], rest: valueMatches.rest }
}

interface FilterMatches {
  readonly filters: readonly Filter[]
  /** The question without the words that became filters. */
  readonly rest: string
}

/**
 * Filters such as "revenue above 1,000". The filter is for the column that the question names last before the comparison. If it names no
 * column before the comparison, the first column that it names after the comparison is used. If it names no column at all, the only column
 * with numbers is used.
 */
function parseComparisons(text: string, columns: readonly Column[]): FilterMatches {
  const numeric = columns.filter(({ kind }) => kind === 'number')
  const filters: Filter[] = []
  let rest = text
  for (const [pattern, test] of comparisons) {
    const match = new RegExp(`(?:^|[^\\p{L}])(?:${pattern.source})\\s*(?:[€$£]\\s*)?(\\d[\\d.,]*\\d|\\d)`, 'u').exec(rest)
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
  const lastNamedFirst = (words: string) => {
    const stems = wordsOf(words).map(({ stem }) => stem)
    const positionOf = (column: Column) => Math.max(...column.stems.map((stem) => stems.lastIndexOf(stem)))
    return columns.filter((column) => positionOf(column) >= 0).sort((a, b) => positionOf(b) - positionOf(a))
  }
  return lastNamedFirst(text.slice(0, at))[0] ?? lastNamedFirst(text.slice(at)).at(-1)
}

/** Filters such as "in 2024" and "in March". They apply to the first column with dates. */
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

/**
 * Filters for cell values that occur in the question. Longer values are tried before shorter ones. A word that is the name of a column is
 * not used as a value.
 */
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
    const position = findWholeWord(rest, foldCase(value))
    if (position === undefined || filters.some((filter) => filter.column === column && filter.test === 'is')) continue
    filters.push({ column, test: 'is', value })
    rest = `${rest.slice(0, position)} ${rest.slice(position + foldCase(value).length)}`
  }
  return { filters, rest }
}

/**
 * A filter for a word of the question that occurs in some values of a column. For example, "cups" occurs in the values "Cups, blue" and
 * "Cups, red". Columns that already have a filter are left out.
 */
function parsePartialValues({ filters, rest }: FilterMatches, { rows }: Table, columns: readonly Column[]): FilterMatches {
  const excluded = new Set([...filters.map(({ column }) => column), ...columns.filter(({ kind }) => kind !== 'text')])
  const names = new Set(columns.flatMap(({ stems }) => stems))
  for (const { stem, text } of contentWords(rest).filter((word) => word.stem.length >= 3 && !names.has(word.stem))) {
    for (const column of columns.filter((each) => !excluded.has(each))) {
      const values = [...new Set(rows.map((row) => cellOf(row, column.index)))]
      const matching = values.filter((value) => wordsOf(value).some((word) => word.stem === stem))
      if (matching.length === 0 || matching.length === values.length) continue
      const filter: Filter = { column, test: 'one of', value: matching, word: text }
      return { filters: [...filters, filter], rest: rest.replace(text, ' ') }
    }
  }
  return { filters, rest }
}

/** The index in the text at which the value occurs as whole words. The value may be followed by an s, as in a plural. */
function findWholeWord(text: string, value: string): number | undefined {
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
    const before = text[at - 1] ?? ' '
    const after = text.slice(at + value.length, at + value.length + 2)
    if (!/[\p{L}\p{N}]/u.test(before) && /^(?:s?(?![\p{L}\p{N}]))/u.test(after)) return at
  }
  return undefined
}
