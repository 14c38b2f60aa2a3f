import { contentWords, foldCase, isName, isNumber, type Word, wordsOf } from '../text/words.ts'
import { parseFilters } from './filters.ts'
import type { Query } from './query.ts'
import { type Column, columnsOf, type Table } from './table.ts'

const patterns = {
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
  const { filters, rest: text } = parseFilters(question, table, columns)
  const mentioned = mentionedColumns(text, columns)
  const order = patterns.highest.test(text) ? 'highest' : patterns.lowest.test(text) ? 'lowest' : undefined
  const unknown = findUnknownWords(question, text, columns)
  const single = unknown.words.length === 0 ? soleItem(columns.filter(({ kind }) => kind === 'number')) : undefined
  const number = mentioned.find(({ kind }) => kind === 'number') ?? single
  const groupBy = groupColumn(text, columns, filters)
  const base = { filters, groupBy, best: undefined, notUnderstood: unknown }
  if (patterns.beyond.test(text)) return undefined

  if (patterns.distinct.test(text) && mentioned[0]) return { ...base, measure: 'distinct', column: mentioned[0], groupBy: undefined }
  if (order !== undefined) return rankingQuery(text, table, columns, mentioned, { ...base, order, number })
  if (patterns.average.test(text) && number) return { ...base, measure: 'average', column: number }
  if (patterns.count.test(text)) return countOrSumQuery(base, text, mentioned, columns)
  if ((patterns.sum.test(text) || groupBy) && number) return { ...base, measure: 'sum', column: number }
  if (filters.length > 0 && (patterns.rows.test(text) || mentioned.length > 0))
    return { ...base, measure: 'rows', column: undefined, groupBy: undefined }
  return undefined
}

type QueryBase = Pick<Query, 'filters' | 'groupBy' | 'best' | 'notUnderstood'>

/** "How many units were sold" adds units, when there is such a column, and so does "how many cups were sold"; "how many orders" counts rows. */
function countOrSumQuery(base: QueryBase, text: string, mentioned: readonly Column[], columns: readonly Column[]): Query {
  const counted = wordsOf(patterns.count.exec(text) ? text.slice(text.search(patterns.count)) : text).slice(2, 4)
  const named = mentioned.find(({ kind, stems }) => kind === 'number' && counted.some(({ stem }) => stems.includes(stem)))
  const things = base.filters.some((filter) => filter.test === 'one of' || filter.test === 'is') && patterns.traded.test(text)
  const column =
    named ?? (things ? columns.find(({ kind, name }) => kind === 'number' && patterns.quantity.test(foldCase(name))) : undefined)
  return column ? { ...base, measure: 'sum', column } : { ...base, measure: 'count', column: undefined }
}

interface RankingOptions extends QueryBase {
  readonly order: 'highest' | 'lowest'
  readonly number: Column | undefined
}

/** Rows by a column, or groups by their sum when what is asked for comes more than once. */
function rankingQuery(
  text: string,
  table: Table,
  columns: readonly Column[],
  mentioned: readonly Column[],
  { order, number, filters, groupBy, notUnderstood: unknown }: RankingOptions,
): Query | undefined {
  const dated = patterns.dated.test(text) ? columns.find(({ kind }) => kind === 'date') : undefined
  const column = dated ?? number ?? mentioned.find(({ kind }) => kind === 'date')
  const wanted = groupBy ?? requestedColumn(text, columns)
  const base = { filters, notUnderstood: unknown }
  if (!column) return wanted && { ...base, measure: 'count', column, groupBy: wanted, best: { count: requestedCount(text), order } }
  const repeats =
    wanted !== undefined && wanted !== column && new Set(table.rows.map(({ cells }) => cells[wanted.index])).size < table.rows.length
  const count = requestedCount(text)
  const average = patterns.average.test(text)
  const summed =
    repeats &&
    column.kind === 'number' &&
    (groupBy !== undefined || average || patterns.sum.test(text) || /\b(?:most|least|fewest|best|top|meisten?)\b/.test(text))
  if (summed) return { ...base, measure: average ? 'average' : 'sum', column, groupBy: wanted, best: { count, order } }
  if (count > 1) return { ...base, measure: 'rows', column, groupBy: undefined, best: { count, order } }
  return { ...base, measure: order === 'highest' ? 'maximum' : 'minimum', column, groupBy: undefined, best: { count: 1, order } }
}

function requestedCount(text: string): number {
  const said =
    /\b(?:top|best|first|highest|lowest|largest|smallest|cheapest|bottom)\s+(\d{1,4}|[a-z]+)\b|\b(\d{1,4}|[a-z]+)\s+(?:best|highest|lowest|largest|smallest|cheapest|most|least|biggest|oldest|newest|latest|earliest|teuersten|gunstigsten|hochsten)\b/.exec(
      text,
    )
  const word = said?.[1] ?? said?.[2] ?? ''
  const number = /^\d/.test(word) ? Number(word) : numerals.indexOf(word) + 1
  return Math.max(1, number)
}

/** Columns that the words name, in the order in which they are named. */
export function mentionedColumns(text: string, columns: readonly Column[]): readonly Column[] {
  const stems = wordsOf(text).map(({ stem }) => stem)
  const place = ({ stems: own }: Column) => {
    const whole = own.length > 0 && own.every((stem) => stems.includes(stem))
    return whole ? stems.indexOf(own[0] as string) : -1
  }
  return columns.filter((column) => place(column) >= 0).sort((a, b) => place(a) - place(b))
}

function groupColumn(text: string, columns: readonly Column[], filters: Query['filters']): Column | undefined {
  const after = patterns.grouped.exec(text)?.[1]
  if (after === undefined) return undefined
  const beginning = wordsOf(after)
    .slice(0, 3)
    .map(({ text: word }) => word)
    .join(' ')
  return mentionedColumns(beginning, columns).find(
    (column) => column.kind !== 'number' && !filters.some((filter) => filter.column === column),
  )
}

/** "Which region …" asks for regions. */
function requestedColumn(text: string, columns: readonly Column[]): Column | undefined {
  const after = patterns.which.exec(text)?.[1] ?? /\btop\s+(?:\w+\s+)?(.*)/.exec(text)?.[1] ?? text
  const beginning = wordsOf(after)
    .slice(0, 3)
    .map(({ text: word }) => word)
    .join(' ')
  return mentionedColumns(beginning, columns).find(({ kind }) => kind === 'text')
}

const soleItem = <T>(values: readonly T[]): T | undefined => (values.length === 1 ? values[0] : undefined)

/** Words that a question about rows is made of, whatever the table is. */
const questionWords = new Set(
  wordsOf(
    'row record entry line table csv data value column list show give find name all each every any sold sell made make came come bought buy paid pay cost ' +
      'ordered placed took got different distinct unique number count total sum amount overall altogether combined per during between than more less greater ' +
      'higher lower fewer above below over under least most top first last best worst highest lowest largest smallest biggest greatest longest shortest ' +
      'cheapest maximum minimum max min fewest bottom latest newest earliest oldest average mean avg exceeding which whose one two three four five six ' +
      'seven eight nine ten january february march april may june july august september october november december',
  ).map(({ stem }) => stem),
)

const germanWords = /\b(?:wie|welche[rnsm]?|wer|was|ist|sind|der|die|das|und|aus|viele|gibt)\b/i

/** What a question says that the table does not know. */
export interface UnknownWords {
  /** Plain words: they may only be another way to say it. */
  readonly words: readonly string[]
  /** Names and numbers: whoever says one means it. */
  readonly names: readonly string[]
}

/** `rest` is the question without what was understood as a condition. */
export function findUnknownWords(question: string, rest: string, columns: readonly Column[]): UnknownWords {
  const known = new Set([...questionWords, ...columns.flatMap(({ stems }) => stems)])
  const left = contentWords(rest).filter(({ stem, text }) => !known.has(stem) && !/^\d{1,2}$/.test(text))
  const [, ...spoken] = wordsOf(question) // a question begins with a capital, whatever it says
  const capital = new Set(germanWords.test(question) ? [] : spoken.filter(isName).map(({ stem }) => stem)) // German has them everywhere
  const named = (word: Word) => isNumber(word) || capital.has(word.stem)
  const asWritten = (word: Word) => spoken.find(({ stem }) => stem === word.stem)?.text ?? word.text
  return {
    words: left.filter((word) => !named(word)).map(({ text }) => text),
    names: left.filter(named).map(asWritten),
  }
}
