import { compute } from '../table/compute.ts'
import { decimalText } from '../table/decimal.ts'
import type { Filter, Query } from '../table/query.ts'
import { readQuestion } from '../table/question.ts'
import { type Told, toldOf } from '../table/told.ts'
import type { Opened } from './open.ts'
import { cite, listed, neutral, quote } from './quote.ts'

/** What is asked of a document's table. Of several documents, a count of something that the table does not know is about another one. */
export function queryFor(question: string, document: Opened, documents: readonly Opened[]): Query | undefined {
  const query = document.table && readQuestion(question, document.table)
  if (!query) return undefined
  const { words, names } = query.notUnderstood
  const vague = names.length > 0 || (query.measure === 'count' && query.filters.length === 0 && words.length > 0)
  return vague && documents.length > 1 ? undefined : query
}

/**
 * What a table says to a question, with the rows it rests on. Undefined when the question is not one for this table. What a program
 * found over the whole file goes before what can be reckoned from the rows in sight.
 */
export function answerFromTable(
  question: string,
  document: Opened,
  documents: readonly Opened[],
  found: Told | undefined,
): string | undefined {
  const { table } = document
  const query = queryFor(question, document, documents)
  if (!table || !query) return undefined
  const { names } = query.notUnderstood
  if (names.length > 0)
    return `I find no “${names.map(neutral).join('”, “')}” in **${neutral(document.name)}**, so no row answers this.${cite(document)}`
  const told = found ?? toldOf(table, compute(table, query))
  if (told.matching === 0) return `No row of **${neutral(document.name)}** matches${conditions(query)}.${cite(document)}`
  const limits = found ? 'Reckoned by a program over the whole file.' : limitsOf(document)
  return [sentence(query, told, document), shownRows(query, told, document), limits].filter((text) => text !== '').join('\n\n')
}

const measures = { sum: 'total', average: 'average', minimum: 'lowest', maximum: 'highest' } as const

function sentence(query: Query, told: Told, document: Opened): string {
  const { measure, column, groupBy } = query
  const from = `**${neutral(document.name)}**`
  const what = column ? `**${neutral(column.name)}**` : 'rows'
  const where = conditions(query)
  if (groupBy)
    return `${groupHeading(query, what, neutral(groupBy.name))}${where}, from ${from}:${cite(document)}\n\n${groupTable(query, told)}`
  const rows = listed(told.numbers, 'row')
  if (measure === 'rows' && query.best)
    return `The ${query.best.order} ${told.chosen} by ${what}${where} in ${from}: ${rows}.${cite(document)}`
  if (measure === 'rows') return `${told.chosen} of ${told.rows} rows in ${from} match${where}: ${rows}.${cite(document)}`
  if (measure === 'count') return `**${told.value}** ${told.value === '1' ? 'row' : 'rows'} in ${from}${where}: ${rows}.${cite(document)}`
  if (measure === 'distinct') return `**${told.value}** different values of ${what} in ${from}${where}.${cite(document)}`
  const about = measure === 'minimum' || measure === 'maximum' ? `${rows} of ${from}` : `over ${rows} of ${from}`
  return `The ${measures[measure]} ${what}${where} is **${told.value}**${told.exact ? '' : ' (rounded)'}: ${about}.${cite(document)}`
}

function groupHeading({ measure, best, column }: Query, what: string, by: string): string {
  const measured = column ? `${measure === 'average' ? 'average' : 'total'} ${what}` : 'number of rows'
  return best ? `The ${best.order} ${measured} by ${by}` : `The ${measured} by ${by}`
}

function groupTable({ groupBy, column, measure }: Query, { groups }: Told): string {
  const head = `| ${neutral(groupBy?.name ?? '')} | ${column ? `${measure} of ${neutral(column.name)}` : 'rows'} | where |`
  const lines = groups.slice(0, 30).map(({ name, value, numbers }) => `| ${cell(name)} | **${value}** | ${listed(numbers, 'row')} |`)
  return [head, '|---|---|---|', ...lines, ...(groups.length > 30 ? [`| … ${groups.length - 30} more | | |`] : [])].join('\n')
}

const cell = (text: string) => neutral(text).replaceAll('|', '\\|').replace(/\s+/g, ' ')

function shownRows({ groupBy, measure }: Query, { shown, chosen, matching }: Told, document: Opened): string {
  if (groupBy || measure === 'distinct') return ''
  const more = chosen > shown.length ? [`… and ${chosen - shown.length} more of the ${matching} rows that match.`] : []
  return [...shown.map((row) => quotedRow(row, document)), ...more].join('\n\n')
}

const quotedRow = (row: Told['shown'][number], document: Opened) => `Row ${row.number} (line ${row.line}):\n${quote(row.raw, document)}`

function conditions({ filters }: Query): string {
  return filters.length === 0 ? '' : ` where ${filters.map(condition).join(' and ')}`
}

function condition(filter: Filter): string {
  const name = neutral(filter.column.name)
  if (filter.test === 'is') return `${name} is ${neutral(filter.value)}`
  if (filter.test === 'one of') return `${name} has “${neutral(filter.word)}”`
  if (filter.test === 'begins') return `${name} is in ${filter.value}`
  if (filter.test === 'month') return `${name} is in month ${filter.value}`
  return `${name} is ${filter.test} ${filter.test === 'more' || filter.test === 'less' ? 'than ' : ''}${decimalText(filter.value, filter.value.scale)}`
}

const limitsOf = ({ partial, table }: Opened): string =>
  partial
    ? `Only the first ${table?.rows.length} rows could be looked at (line ${partial.seen} of ${partial.total}); the rest is not in this figure.`
    : ''
