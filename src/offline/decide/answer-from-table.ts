import { parseJson } from '../../core/json.ts'
import { toPhysical } from '../../core/path/physical.ts'
import type { Situation } from '../prompt/situation.ts'
import { decimalText } from '../table/decimal.ts'
import { writeProgram } from '../table/program.ts'
import { type Filter, ProgramResult, type Query, runQuery, toProgramResult } from '../table/query.ts'
import { readQuestion } from '../table/question.ts'
import { cite, type Decision, escapeMarkup, listNumbers, quote } from './decision.ts'
import type { OpenDocument } from './open-documents.ts'
import { canCall, planProgress } from './plan.ts'

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

const execTool = 'exec_tools.execute_code_javascript'

/** Where programs can run, a table is reckoned by one: it sees every row, also of a file too long to read. Once; what fails is done here. */
export function runProgram(situation: Situation, documents: readonly OpenDocument[]): Decision | undefined {
  const { turnId, announced, calls } = situation
  const asked = documents.flatMap((document) => {
    const query = queryFor(situation.request, document, documents)
    const table = toPhysical(document.path)
    return query && query.notUnderstood.names.length === 0 && table !== undefined && document.turnId === turnId
      ? [{ document, query, table }]
      : []
  })
  const [first] = asked
  if (!first || asked.length > 1 || !canCall(situation, execTool) || calls.some(({ toolId }) => toolId === execTool)) return undefined
  return {
    kind: 'call',
    thinking: `${first.document.name} is a table, so I let a program reckon.`,
    notes: planProgress(announced.plan, 'Find', `I run a program over ${first.document.name}.`),
    toolId: execTool,
    params: { contract: [{ filename: 'outputs/answer.json', description: 'the answer, with its rows', visibility: 'internal' }] },
    code: writeProgram(first.query, { table: first.table, answer: `${turnId}/outputs/answer.json` }),
  }
}

/** What the program wrote, if it did. */
export function readProgramResult({ calls }: Situation): ProgramResult | undefined {
  const results = calls.find(({ toolId }) => toolId === execTool)?.results ?? []
  const written = results.find(({ path }) => path?.endsWith('.outputs/answer.json') === true)
  const parsed = ProgramResult.safeParse(parseJson(written?.body.replace(/^mime: .*\npayload:\n/, '')))
  return parsed.success ? parsed.data : undefined
}
