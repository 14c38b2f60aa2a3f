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
  /**
   * Words for calculations that are not supported. If a question contains such a word, it is not answered from the table. Otherwise the
   * user would get the result of another calculation than the question asks for.
   */
  unsupported:
    /\b(?:times|multiplied|divided|ratio|difference|minus|percent\w*|share|median|correlat\w+|trend|forecast|growth|mal|prozent|anteil)\b/,
  rows: /\b(?:list|show|which|what|who|find|name|give|liste|zeige?|nenne|welche[rnsm]?|rows?|records?|entries)\b/,
} as const

const numerals = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/**
 * The query on a table that a question describes. Undefined when the question asks for no calculation and names no column or value of the
 * table.
 */
export function readQuestion(question: string, table: Table): Query | undefined {
  const columns = columnsOf(table)
  const { filters, rest: text } = parseFilters(question, table, columns)
  const mentioned = mentionedColumns(text, columns)
  const order = patterns.highest.test(text) ? 'highest' : patterns.lowest.test(text) ? 'lowest' : undefined
  const unknownWords = findUnknownWords(question, text, columns)
  const onlyNumber = unknownWords.words.length === 0 ? soleItem(columns.filter(({ kind }) => kind === 'number')) : undefined
  const number = mentioned.find(({ kind }) => kind === 'number') ?? onlyNumber
  const groupBy = groupColumn(text, columns, filters)
  const base = { filters, groupBy, best: undefined, unknownWords }
  if (patterns.unsupported.test(text)) return undefined

  if (patterns.distinct.test(text) && mentioned[0]) return { ...base, measure: 'distinct', column: mentioned[0], groupBy: undefined }
  if (order !== undefined) return rankingQuery(text, table, columns, mentioned, { ...base, order, number })
  if (patterns.average.test(text) && number) return { ...base, measure: 'average', column: number }
  if (patterns.count.test(text)) return countOrSumQuery(base, text, mentioned, columns)
  if ((patterns.sum.test(text) || groupBy) && number) return { ...base, measure: 'sum', column: number }
  if (filters.length > 0 && (patterns.rows.test(text) || mentioned.length > 0))
    return { ...base, measure: 'rows', column: undefined, groupBy: undefined }
  return undefined
}

type QueryBase = Pick<Query, 'filters' | 'groupBy' | 'best' | 'unknownWords'>

/**
 * The query for a question with "how many". It sums a column if the question names this column ("how many units were sold"). It also sums
 * the column with quantities if the question names a value and says that it was sold or bought ("how many cups were sold"). Otherwise it
 * counts rows ("how many orders").
 */
function countOrSumQuery(base: QueryBase, text: string, mentioned: readonly Column[], columns: readonly Column[]): Query {
  const countedWords = wordsOf(patterns.count.exec(text) ? text.slice(text.search(patterns.count)) : text).slice(2, 4)
  const named = mentioned.find(({ kind, stems }) => kind === 'number' && countedWords.some(({ stem }) => stems.includes(stem)))
  const countsItems = base.filters.some((filter) => filter.test === 'one of' || filter.test === 'is') && patterns.traded.test(text)
  const column =
    named ?? (countsItems ? columns.find(({ kind, name }) => kind === 'number' && patterns.quantity.test(foldCase(name))) : undefined)
  return column ? { ...base, measure: 'sum', column } : { ...base, measure: 'count', column: undefined }
}

interface RankingOptions extends QueryBase {
  readonly order: 'highest' | 'lowest'
  readonly number: Column | undefined
}

/**
 * The query for the highest or lowest rows of a column. A question such as "which region has the most revenue" asks for values of another
 * column. If such a value occurs in several rows, these rows form a group, and the query compares the sums or averages of the groups.
 */
function rankingQuery(
  text: string,
  table: Table,
  columns: readonly Column[],
  mentioned: readonly Column[],
  { order, number, filters, groupBy, unknownWords }: RankingOptions,
): Query | undefined {
  const dated = patterns.dated.test(text) ? columns.find(({ kind }) => kind === 'date') : undefined
  const column = dated ?? number ?? mentioned.find(({ kind }) => kind === 'date')
  const wanted = groupBy ?? requestedColumn(text, columns)
  const base = { filters, unknownWords }
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
  const match =
    /\b(?:top|best|first|highest|lowest|largest|smallest|cheapest|bottom)\s+(\d{1,4}|[a-z]+)\b|\b(\d{1,4}|[a-z]+)\s+(?:best|highest|lowest|largest|smallest|cheapest|most|least|biggest|oldest|newest|latest|earliest|teuersten|gunstigsten|hochsten)\b/.exec(
      text,
    )
  const word = match?.[1] ?? match?.[2] ?? ''
  const number = /^\d/.test(word) ? Number(word) : numerals.indexOf(word) + 1
  return Math.max(1, number)
}

/** The columns whose whole name occurs in the text, in the order in which the text names them. */
function mentionedColumns(text: string, columns: readonly Column[]): readonly Column[] {
  const stems = wordsOf(text).map(({ stem }) => stem)
  const positionOf = (column: Column) => {
    const named = column.stems.length > 0 && column.stems.every((stem) => stems.includes(stem))
    return named ? stems.indexOf(column.stems[0] as string) : -1
  }
  return columns.filter((column) => positionOf(column) >= 0).sort((a, b) => positionOf(a) - positionOf(b))
}

function groupColumn(text: string, columns: readonly Column[], filters: Query['filters']): Column | undefined {
  const grouping = patterns.grouped.exec(text)?.[1]
  if (grouping === undefined) return undefined
  return mentionedColumns(firstWords(grouping), columns).find(
    (column) => column.kind !== 'number' && !filters.some((filter) => filter.column === column),
  )
}

/** The column that a question such as "Which region …" asks for. */
function requestedColumn(text: string, columns: readonly Column[]): Column | undefined {
  const requested = patterns.which.exec(text)?.[1] ?? /\btop\s+(?:\w+\s+)?(.*)/.exec(text)?.[1] ?? text
  return mentionedColumns(firstWords(requested), columns).find(({ kind }) => kind === 'text')
}

const firstWords = (text: string): string =>
  wordsOf(text)
    .slice(0, 3)
    .map(({ text: word }) => word)
    .join(' ')

const soleItem = <T>(values: readonly T[]): T | undefined => (values.length === 1 ? values[0] : undefined)

/** Stems of words that may occur in a question about any table, such as "row" and "highest". */
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

/** Words of a question that are not in the table and are not question words. */
export interface UnknownWords {
  /** Ordinary words, which may be synonyms of words in the table. */
  readonly words: readonly string[]
  /** Names and numbers that are not in the table. A row can not match a question with such a name. */
  readonly names: readonly string[]
}

/**
 * Finds the unknown words of a question: those that are neither in the names of the columns nor usual question words. `rest` is the
 * question without the words that became filters.
 */
function findUnknownWords(question: string, rest: string, columns: readonly Column[]): UnknownWords {
  const known = new Set([...questionWords, ...columns.flatMap(({ stems }) => stems)])
  const unknown = contentWords(rest).filter(({ stem, text }) => !known.has(stem) && !/^\d{1,2}$/.test(text))
  const [, ...words] = wordsOf(question) // the first word is left out, because it has a capital letter in any case
  // A German question has no names in this set, because all German nouns have a capital letter.
  const capitalised = new Set(germanWords.test(question) ? [] : words.filter(isName).map(({ stem }) => stem))
  const isNamed = (word: Word) => isNumber(word) || capitalised.has(word.stem)
  const asWritten = (word: Word) => words.find(({ stem }) => stem === word.stem)?.text ?? word.text
  return {
    words: unknown.filter((word) => !isNamed(word)).map(({ text }) => text),
    names: unknown.filter(isNamed).map(asWritten),
  }
}
