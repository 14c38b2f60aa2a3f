import { cite, escapeMarkup, listNumbers, quote } from '../../adapters/model/offline/decide/quote.ts'
import { runQuery } from '../../adapters/model/offline/table/compute.ts'
import { type ProgramResult, toProgramResult } from '../../adapters/model/offline/table/told.ts'
import { decimalText } from '../table/decimal.ts'
import type { Filter, Query } from '../table/query.ts'
import { readQuestion } from '../table/question.ts'
import type { OpenDocument } from './open-documents.ts'

/** What is asked of a document's table. Of several documents, a count of something that the table does not know is about another one. */
export function queryFor(question: string, document: OpenDocument, documents: readonly OpenDocument[]): Query | undefined {
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
  document: OpenDocument,
  documents: readonly OpenDocument[],
  found: ProgramResult | undefined,
): string | undefined {
  const { table } = document
  const query = queryFor(question, document, documents)
  if (!table || !query) return undefined
  const { names } = query.notUnderstood
  if (names.length > 0)
    return `I find no “${names.map(escapeMarkup).join('”, “')}” in **${escapeMarkup(document.name)}**, so no row answers this.${cite(document)}`
  const told = found ?? toProgramResult(table, runQuery(table, query))
  if (told.matching === 0) return `No row of **${escapeMarkup(document.name)}** matches${describeFilters(query)}.${cite(document)}`
  const limits = found ? 'Reckoned by a program over the whole file.' : partialNote(document)
  return [resultSentence(query, told, document), quotedRows(query, told, document), limits].filter((text) => text !== '').join('\n\n')
}

const measures = { sum: 'total', average: 'average', minimum: 'lowest', maximum: 'highest' } as const

function resultSentence(query: Query, told: ProgramResult, document: OpenDocument): string {
  const { measure, column, groupBy } = query
  const from = `**${escapeMarkup(document.name)}**`
  const what = column ? `**${escapeMarkup(column.name)}**` : 'rows'
  const where = describeFilters(query)
  if (groupBy)
    return `${groupHeading(query, what, escapeMarkup(groupBy.name))}${where}, from ${from}:${cite(document)}\n\n${groupTable(query, told)}`
  const rows = listNumbers(told.numbers, 'row')
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

function groupTable({ groupBy, column, measure }: Query, { groups }: ProgramResult): string {
  const head = `| ${escapeMarkup(groupBy?.name ?? '')} | ${column ? `${measure} of ${escapeMarkup(column.name)}` : 'rows'} | where |`
  const lines = groups
    .slice(0, 30)
    .map(({ name, value, numbers }) => `| ${tableCell(name)} | **${value}** | ${listNumbers(numbers, 'row')} |`)
  return [head, '|---|---|---|', ...lines, ...(groups.length > 30 ? [`| … ${groups.length - 30} more | | |`] : [])].join('\n')
}

const tableCell = (text: string) => escapeMarkup(text).replaceAll('|', '\\|').replace(/\s+/g, ' ')

function quotedRows({ groupBy, measure }: Query, { shown, chosen, matching }: ProgramResult, document: OpenDocument): string {
  if (groupBy || measure === 'distinct') return ''
  const more = chosen > shown.length ? [`… and ${chosen - shown.length} more of the ${matching} rows that match.`] : []
  return [...shown.map((row) => quotedRow(row, document)), ...more].join('\n\n')
}

const quotedRow = (row: ProgramResult['shown'][number], document: OpenDocument) =>
  `Row ${row.number} (line ${row.line}):\n${quote(row.raw, document)}`

function describeFilters({ filters }: Query): string {
  return filters.length === 0 ? '' : ` where ${filters.map(describeFilter).join(' and ')}`
}

function describeFilter(filter: Filter): string {
  const name = escapeMarkup(filter.column.name)
  if (filter.test === 'is') return `${name} is ${escapeMarkup(filter.value)}`
  if (filter.test === 'one of') return `${name} has “${escapeMarkup(filter.word)}”`
  if (filter.test === 'begins') return `${name} is in ${filter.value}`
  if (filter.test === 'month') return `${name} is in month ${filter.value}`
  return `${name} is ${filter.test} ${filter.test === 'more' || filter.test === 'less' ? 'than ' : ''}${decimalText(filter.value, filter.value.scale)}`
}

const partialNote = ({ partial, table }: OpenDocument): string =>
  partial
    ? `Only the first ${table?.rows.length} rows could be looked at (line ${partial.seen} of ${partial.total}); the rest is not in this figure.`
    : ''
