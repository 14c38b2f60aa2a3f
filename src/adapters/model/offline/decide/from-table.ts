import { type Answer, compute } from '../table/compute.ts'
import type { Row } from '../table/csv.ts'
import { decimalText } from '../table/decimal.ts'
import type { Filter, Query } from '../table/query.ts'
import { readQuestion } from '../table/question.ts'
import type { Opened } from './open.ts'
import { cite, listed, neutral, quote } from './quote.ts'

const mostQuoted = 6

/** What a table says to a question, with the rows it rests on. Undefined when the question is not one for this table. */
export function answerFromTable(question: string, document: Opened): string | undefined {
  const { table } = document
  const query = table && readQuestion(question, table)
  if (!table || !query) return undefined
  const result = compute(table, query)
  if (result.considered.length === 0) return `No row of **${neutral(document.name)}** matches${conditions(query)}.${cite(document)}`
  return [sentence(query, result, document), shownRows(query, result, document), limits(document)]
    .filter((text) => text !== '')
    .join('\n\n')
}

const measures = { sum: 'total', average: 'average', minimum: 'lowest', maximum: 'highest' } as const

function sentence(query: Query, result: Answer, document: Opened): string {
  const { measure, column, groupBy } = query
  const from = `**${neutral(document.name)}**`
  const what = column ? `**${neutral(column.name)}**` : 'rows'
  const where = conditions(query)
  if (groupBy)
    return `${groupHeading(query, what, neutral(groupBy.name))}${where}, from ${from}:${cite(document)}\n\n${groupTable(query, result)}`
  const rows = listed(
    result.rows.map(({ number }) => number),
    'row',
  )
  if (measure === 'rows' && query.best)
    return `The ${query.best.order} ${result.rows.length} by ${what}${where} in ${from}: ${rows}.${cite(document)}`
  if (measure === 'rows')
    return `${result.rows.length} of ${document.table?.rows.length} rows in ${from} match${where}: ${rows}.${cite(document)}`
  if (measure === 'count')
    return `**${result.value}** ${result.value === '1' ? 'row' : 'rows'} in ${from}${where}: ${rows}.${cite(document)}`
  if (measure === 'distinct') return `**${result.value}** different values of ${what} in ${from}${where}.${cite(document)}`
  const about = measure === 'minimum' || measure === 'maximum' ? `${rows} of ${from}` : `over ${rows} of ${from}`
  return `The ${measures[measure]} ${what}${where} is **${result.value}**${result.exact ? '' : ' (rounded)'}: ${about}.${cite(document)}`
}

function groupHeading({ measure, best, column }: Query, what: string, by: string): string {
  const measured = column ? `${measure === 'average' ? 'average' : 'total'} ${what}` : 'number of rows'
  return best ? `The ${best.order} ${measured} by ${by}` : `The ${measured} by ${by}`
}

function groupTable({ groupBy, column, measure }: Query, { groups }: Answer): string {
  const head = `| ${neutral(groupBy?.name ?? '')} | ${column ? `${measure} of ${neutral(column.name)}` : 'rows'} | where |`
  const lines = groups.slice(0, 30).map(
    ({ name, value, rows }) =>
      `| ${cell(name)} | **${value}** | ${listed(
        rows.map(({ number }) => number),
        'row',
      )} |`,
  )
  return [head, '|---|---|---|', ...lines, ...(groups.length > 30 ? [`| … ${groups.length - 30} more | | |`] : [])].join('\n')
}

const cell = (text: string) => neutral(text).replaceAll('|', '\\|').replace(/\s+/g, ' ')

function shownRows({ groupBy, measure }: Query, { rows, considered }: Answer, document: Opened): string {
  if (groupBy || measure === 'distinct') return ''
  const shown = rows.slice(0, mostQuoted)
  const more = rows.length > shown.length ? [`… and ${rows.length - shown.length} more of the ${considered.length} rows that match.`] : []
  return [...shown.map((row) => quotedRow(row, document)), ...more].join('\n\n')
}

const quotedRow = (row: Row, document: Opened) => `Row ${row.number} (line ${row.line}):\n${quote(row.raw, document)}`

function conditions({ filters }: Query): string {
  return filters.length === 0 ? '' : ` where ${filters.map(condition).join(' and ')}`
}

function condition(filter: Filter): string {
  const name = neutral(filter.column.name)
  if (filter.test === 'is') return `${name} is ${neutral(filter.value)}`
  if (filter.test === 'begins') return `${name} is in ${filter.value}`
  if (filter.test === 'month') return `${name} is in month ${filter.value}`
  return `${name} is ${filter.test} ${filter.test === 'more' || filter.test === 'less' ? 'than ' : ''}${decimalText(filter.value, filter.value.scale)}`
}

const limits = ({ partial, table }: Opened): string =>
  partial
    ? `Only the first ${table?.rows.length} rows could be looked at (line ${partial.seen} of ${partial.total}); the rest is not in this figure.`
    : ''
