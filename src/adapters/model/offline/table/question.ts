import { folded, wordsOf } from '../text/words.ts'
import { type Column, columnsOf } from './columns.ts'
import type { Table } from './csv.ts'
import { filtersIn } from './filters.ts'
import type { Query } from './query.ts'
import { notUnderstood } from './understood.ts'

const asks = {
  distinct: /\b(?:how many|number of|count(?: of)?)\s+(?:\w+\s+)?(?:different|distinct|unique)\b|\bwie viele verschiedene\b/,
  count: /\b(?:how many|number of|count|wie viele|anzahl)\b/,
  average: /\b(?:average|mean|avg|durchschnitt\w*|im schnitt|mittelwert)\b/,
  sum: /\b(?:total|sum|altogether|combined|overall|how much|summe|gesamt\w*|insgesamt)\b/,
  highest:
    /\b(?:highest|most|largest|maximum|max|biggest|greatest|best|longest|top|latest|newest|hochste[rnsm]?|grosste[rnsm]?|meisten?|teuerste[rnsm]?|maximal\w*)\b/,
  lowest:
    /\b(?:lowest|least|smallest|minimum|min|cheapest|fewest|shortest|worst|earliest|oldest|bottom|niedrigste[rnsm]?|kleinste[rnsm]?|wenigsten?|billigste[rnsm]?|gunstigste[rnsm]?)\b/,
  dated: /\b(?:latest|newest|earliest|oldest|neueste[rnsm]?|alteste[rnsm]?)\b/,
  grouped: /\b(?:by|per|for each|in each|for every|of each|pro|je|nach)\s+(?:the\s+)?(.*)/,
  traded: /\b(?:sold|bought|ordered|delivered|shipped|verkauft|bestellt)\b/,
  quantity: /^(?:quantity|qty|units?|amount|pieces|menge|anzahl|stuck)$/,
  which: /\b(?:which|what|who|welche[rnsm]?|wer)\s+(.*)/,
  /** What we can not reckon must not be answered by something else. */
  beyond:
    /\b(?:times|multiplied|divided|ratio|difference|minus|percent\w*|share|median|correlat\w+|trend|forecast|growth|mal|prozent|anteil)\b/,
  rows: /\b(?:list|show|which|what|who|find|name|give|liste|zeige?|nenne|welche[rnsm]?|rows?|records?|entries)\b/,
} as const

const numerals = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/** What a question asks of a table, or undefined when nothing in it speaks of reckoning or of the table's own columns and values. */
export function readQuestion(question: string, table: Table): Query | undefined {
  const columns = columnsOf(table)
  const { filters, rest: text } = filtersIn(question, table, columns)
  const mentioned = mentionedIn(text, columns)
  const order = asks.highest.test(text) ? 'highest' : asks.lowest.test(text) ? 'lowest' : undefined
  const unknown = notUnderstood(question, text, columns)
  const single = unknown.words.length === 0 ? only(columns.filter(({ kind }) => kind === 'number')) : undefined
  const number = mentioned.find(({ kind }) => kind === 'number') ?? single
  const groupBy = groupIn(text, columns, filters)
  const base = { filters, groupBy, best: undefined, notUnderstood: unknown }
  if (asks.beyond.test(text)) return undefined

  if (asks.distinct.test(text) && mentioned[0]) return { ...base, measure: 'distinct', column: mentioned[0], groupBy: undefined }
  if (order !== undefined) return bestOf(text, table, columns, mentioned, { ...base, order, number })
  if (asks.average.test(text) && number) return { ...base, measure: 'average', column: number }
  if (asks.count.test(text)) return countOrSum(base, text, mentioned, columns)
  if ((asks.sum.test(text) || groupBy) && number) return { ...base, measure: 'sum', column: number }
  if (filters.length > 0 && (asks.rows.test(text) || mentioned.length > 0))
    return { ...base, measure: 'rows', column: undefined, groupBy: undefined }
  return undefined
}

type Base = Pick<Query, 'filters' | 'groupBy' | 'best' | 'notUnderstood'>

/** "How many units were sold" adds units, when there is such a column, and so does "how many cups were sold"; "how many orders" counts rows. */
function countOrSum(base: Base, text: string, mentioned: readonly Column[], columns: readonly Column[]): Query {
  const counted = wordsOf(asks.count.exec(text) ? text.slice(text.search(asks.count)) : text).slice(2, 4)
  const named = mentioned.find(({ kind, stems }) => kind === 'number' && counted.some(({ stem }) => stems.includes(stem)))
  const things = base.filters.some((filter) => filter.test === 'one of' || filter.test === 'is') && asks.traded.test(text)
  const column = named ?? (things ? columns.find(({ kind, name }) => kind === 'number' && asks.quantity.test(folded(name))) : undefined)
  return column ? { ...base, measure: 'sum', column } : { ...base, measure: 'count', column: undefined }
}

interface BestOf extends Base {
  readonly order: 'highest' | 'lowest'
  readonly number: Column | undefined
}

/** Rows by a column, or groups by their sum when what is asked for comes more than once. */
function bestOf(
  text: string,
  table: Table,
  columns: readonly Column[],
  mentioned: readonly Column[],
  { order, number, filters, groupBy, notUnderstood: unknown }: BestOf,
): Query | undefined {
  const dated = asks.dated.test(text) ? columns.find(({ kind }) => kind === 'date') : undefined
  const column = dated ?? number ?? mentioned.find(({ kind }) => kind === 'date')
  const wanted = groupBy ?? askedFor(text, columns)
  const base = { filters, notUnderstood: unknown }
  if (!column) return wanted && { ...base, measure: 'count', column, groupBy: wanted, best: { count: howMany(text), order } }
  const repeats =
    wanted !== undefined && wanted !== column && new Set(table.rows.map(({ cells }) => cells[wanted.index])).size < table.rows.length
  const count = howMany(text)
  const average = asks.average.test(text)
  const summed =
    repeats &&
    column.kind === 'number' &&
    (groupBy !== undefined || average || asks.sum.test(text) || /\b(?:most|least|fewest|best|top|meisten?)\b/.test(text))
  if (summed) return { ...base, measure: average ? 'average' : 'sum', column, groupBy: wanted, best: { count, order } }
  if (count > 1) return { ...base, measure: 'rows', column, groupBy: undefined, best: { count, order } }
  return { ...base, measure: order === 'highest' ? 'maximum' : 'minimum', column, groupBy: undefined, best: { count: 1, order } }
}

function howMany(text: string): number {
  const said =
    /\b(?:top|best|first|highest|lowest|largest|smallest|cheapest|bottom)\s+(\d{1,4}|[a-z]+)\b|\b(\d{1,4}|[a-z]+)\s+(?:best|highest|lowest|largest|smallest|cheapest|most|least|biggest|oldest|newest|latest|earliest|teuersten|gunstigsten|hochsten)\b/.exec(
      text,
    )
  const word = said?.[1] ?? said?.[2] ?? ''
  const number = /^\d/.test(word) ? Number(word) : numerals.indexOf(word) + 1
  return Math.max(1, number)
}

/** Columns that the words name, in the order in which they are named. */
export function mentionedIn(text: string, columns: readonly Column[]): readonly Column[] {
  const stems = wordsOf(text).map(({ stem }) => stem)
  const place = ({ stems: own }: Column) => {
    const whole = own.length > 0 && own.every((stem) => stems.includes(stem))
    return whole ? stems.indexOf(own[0] as string) : -1
  }
  return columns.filter((column) => place(column) >= 0).sort((a, b) => place(a) - place(b))
}

function groupIn(text: string, columns: readonly Column[], filters: Query['filters']): Column | undefined {
  const after = asks.grouped.exec(text)?.[1]
  if (after === undefined) return undefined
  const beginning = wordsOf(after)
    .slice(0, 3)
    .map(({ text: word }) => word)
    .join(' ')
  return mentionedIn(beginning, columns).find((column) => column.kind !== 'number' && !filters.some((filter) => filter.column === column))
}

/** "Which region …" asks for regions. */
function askedFor(text: string, columns: readonly Column[]): Column | undefined {
  const after = asks.which.exec(text)?.[1] ?? /\btop\s+(?:\w+\s+)?(.*)/.exec(text)?.[1] ?? text
  const beginning = wordsOf(after)
    .slice(0, 3)
    .map(({ text: word }) => word)
    .join(' ')
  return mentionedIn(beginning, columns).find(({ kind }) => kind === 'text')
}

const only = <T>(values: readonly T[]): T | undefined => (values.length === 1 ? values[0] : undefined)
