import { toPhysical } from '../../core/path/physical.ts'
import { parsePayload, type Situation } from '../prompt/situation.ts'
import { decimalText } from '../table/decimal.ts'
import { writeProgram } from '../table/program.ts'
import { type Filter, ProgramResult, type Query, runQuery, toProgramResult } from '../table/query.ts'
import { readQuestion } from '../table/question.ts'
import { wordsOf } from '../text/words.ts'
import { type Decision, escapeMarkup, listNumbers, mention, quote } from './decision.ts'
import type { OpenDocument } from './open-documents.ts'
import { canCall, planProgress } from './plan.ts'

/**
 * Answers a question from a table, and shows the rows that the answer is computed from. Undefined when the question is not about this
 * table. If a program has computed a result, this result is used. The program has read the whole file, while the prompt may show only some
 * rows.
 */
export function answerFromTable(
  question: string,
  document: OpenDocument,
  documents: readonly OpenDocument[],
  programResult: ProgramResult | undefined,
): string | undefined {
  const { table } = document
  const query = queryFor(question, document, documents)
  if (!table || !query) return undefined
  const { names } = query.unknownWords
  if (names.length > 0) return `I find no “${names.map(escapeMarkup).join('”, “')}” in ${mention(document)}, so no row answers this.`
  const result = programResult ?? toProgramResult(table, runQuery(table, query))
  if (result.matching === 0) return `No row of ${mention(document)} matches${describeFilters(query)}.`
  const limits = programResult ? 'Computed by a program over the whole file.' : partialNote(document)
  return [resultSentence(query, result, document), quotedRows(query, result), limits].filter((text) => text !== '').join('\n\n')
}

/**
 * The query that a question asks of the table of a document. Undefined when the document has no table, or when the question seems to be
 * about another document. The question is assumed to be about another document in these cases:
 *
 * - there are several documents, and the question contains a name that is not in the table
 * - there are several documents, and the question is like "how many cats", but the table does not contain the word "cats"
 * - the question contains no value of the table, and a document without a table contains a word of the question that the table lacks
 */
function queryFor(question: string, document: OpenDocument, documents: readonly OpenDocument[]): Query | undefined {
  const query = document.table && readQuestion(question, document.table)
  if (!query) return undefined
  const { words, names } = query.unknownWords
  const vague = names.length > 0 || (query.measure === 'count' && query.filters.length === 0 && words.length > 0)
  if (vague && documents.length > 1) return undefined
  return query.filters.length === 0 && documents.some((other) => !other.table && hasWord(other, words)) ? undefined : query
}

function hasWord({ passages }: OpenDocument, words: readonly string[]): boolean {
  const stems = new Set(words.flatMap((word) => wordsOf(word).map(({ stem }) => stem)))
  return stems.size > 0 && passages.some(({ text }) => wordsOf(text).some(({ stem }) => stems.has(stem)))
}

const measures = { sum: 'total', average: 'average', minimum: 'lowest', maximum: 'highest' } as const

function resultSentence(query: Query, result: ProgramResult, document: OpenDocument): string {
  const { measure, column, groupBy } = query
  const from = mention(document)
  const what = column ? `**${escapeMarkup(column.name)}**` : 'rows'
  const where = describeFilters(query)
  if (groupBy) return `${groupHeading(query, what, escapeMarkup(groupBy.name))}${where}, from ${from}:\n\n${groupTable(query, result)}`
  const rows = listNumbers(result.numbers, 'row')
  if (measure === 'rows' && query.best) return `The ${query.best.order} ${result.chosen} by ${what}${where} in ${from}: ${rows}.`
  if (measure === 'rows') return `${result.chosen} of ${result.rows} rows in ${from} match${where}: ${rows}.`
  if (measure === 'count') return `**${result.value}** ${result.value === '1' ? 'row' : 'rows'} in ${from}${where}: ${rows}.`
  if (measure === 'distinct') return `**${result.value}** different values of ${what} in ${from}${where}.`
  const about = measure === 'minimum' || measure === 'maximum' ? `${rows} of ${from}` : `over ${rows} of ${from}`
  return `The ${measures[measure]} ${what}${where} is **${result.value}**${result.exact ? '' : ' (rounded)'}: ${about}.`
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

/** A text for a cell of a Markdown table. */
export const tableCell = (text: string) => escapeMarkup(text).replaceAll('|', '\\|').replace(/\s+/g, ' ')

function quotedRows({ groupBy, measure }: Query, { shown, chosen, matching }: ProgramResult): string {
  if (groupBy || measure === 'distinct') return ''
  const more = chosen > shown.length ? [`… and ${chosen - shown.length} more of the ${matching} rows that match.`] : []
  return [...shown.map(quotedRow), ...more].join('\n\n')
}

const quotedRow = (row: ProgramResult['shown'][number]) => `Row ${row.number} (line ${row.line}):\n${quote(row.raw)}`

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

/** The groups that a question asks for, as the bars of a chart. Undefined if the question does not ask for groups of exactly one table. */
export function groupsFor(
  question: string,
  documents: readonly OpenDocument[],
  programResult: ProgramResult | undefined,
): { readonly title: string; readonly bars: ProgramResult['groups'] } | undefined {
  const [found, ...others] = documents.flatMap((document) => {
    const query = queryFor(question, document, documents)
    return document.table && query?.groupBy && query.unknownWords.names.length === 0 ? [{ table: document.table, query }] : []
  })
  if (!found || others.length > 0) return undefined
  const { table, query } = found
  const { groups } = programResult ?? toProgramResult(table, runQuery(table, query))
  const heading = groupHeading(query, query.column?.name ?? '', query.groupBy?.name ?? '').slice('The '.length)
  const title = heading.charAt(0).toUpperCase() + heading.slice(1)
  return groups.length === 0 ? undefined : { title, bars: groups }
}

const execTool = 'exec_tools.execute_code_javascript'

export const canRunPrograms = ({ tools }: Situation): boolean => tools.has(execTool)

/**
 * The decision to run a program that computes the answer from all rows, even if the file is too long to read. Undefined in these cases:
 *
 * - programs can not run
 * - the question is not about exactly one table that was attached in this turn
 * - a program has already run for this message. If this program failed, the answer is computed from the rows that the prompt shows
 */
export function runProgram(situation: Situation, documents: readonly OpenDocument[]): Decision | undefined {
  const { turnId, announce, calls } = situation
  const candidates = documents.flatMap((document) => {
    const query = queryFor(situation.request, document, documents)
    const table = toPhysical(document.path)
    return query && query.unknownWords.names.length === 0 && table !== undefined && document.turnId === turnId
      ? [{ document, query, table }]
      : []
  })
  const [first] = candidates
  if (!first || candidates.length > 1 || !canCall(situation, execTool) || calls.some(({ toolId }) => toolId === execTool)) return undefined
  return {
    kind: 'call',
    thinking: `${first.document.name} is a table, so I let a program compute.`,
    notes: planProgress(announce.plan, 'Find', `I run a program over ${first.document.name}.`),
    toolId: execTool,
    params: { contract: [{ filename: 'outputs/answer.json', description: 'the answer, with its rows', visibility: 'internal' }] },
    code: writeProgram(first.query, { table: first.table, answer: `${turnId}/outputs/answer.json` }),
  }
}

/** The result that the program wrote. Undefined if no program has run or the program failed. */
export function readProgramResult({ calls }: Situation): ProgramResult | undefined {
  const results = calls.find(({ toolId }) => toolId === execTool)?.results ?? []
  const written = results.find(({ path }) => path?.endsWith('.outputs/answer.json') === true)
  const parsed = ProgramResult.safeParse(parsePayload(written))
  return parsed.success ? parsed.data : undefined
}
