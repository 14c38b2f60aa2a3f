import type { JsonObject } from '../../core/json.ts'
import { findTool } from '../prompt/sections.ts'
import type { CallRecord, Situation } from '../prompt/situation.ts'
import { averageOf, compare, type Decimal, decimalText, sumOf } from '../table/decimal.ts'
import { columnsOf, numbersIn, type Table } from '../table/table.ts'
import type { Passage } from '../text/passages.ts'
import { suggestFollowups } from './canned-replies.ts'
import { chartBlock, reportChartNote } from './chart.ts'
import { answer, type Decision, escapeMarkup, mention } from './decision.ts'
import type { Intent } from './intent.ts'
import type { OpenDocument } from './open-documents.ts'
import { canCall, closePlan, planProgress } from './plan.ts'
import { maxCentral, passagesAbout, topicOf } from './report-passages.ts'

type ReportIntent = Extract<Intent, { kind: 'report' }>

const reportPath = 'files/report.md'

/** The steps of the plan for a report. */
export function reportSteps(situation: Situation, intent: ReportIntent): readonly string[] {
  return ['Write the report', ...(rendererTool(situation, intent) === undefined ? [] : [`Render it as ${intent.format?.toUpperCase()}`])]
}

/**
 * The next decision for a report: first write the report to a file, then render it as PDF or DOCX, then answer with the outline of the
 * report. The report is rendered only if the user asks for it and the agent has a tool for it.
 */
export function deliverReport(situation: Situation, intent: ReportIntent, documents: readonly OpenDocument[]): Decision {
  const written = situation.calls.find(({ toolId }) => toolId === 'react.write')
  if (!written && canCall(situation, 'react.write')) return writeReport(situation, intent, documents)
  if (!written || written.failed) return closePlan(situation) ?? reportAsAnswer(situation, documents, intent)
  const tool = rendererTool(situation, intent)
  const rendered = situation.calls.find(({ toolId }) => toolId === tool)
  if (tool !== undefined && !rendered && canCall(situation, tool)) return renderReport(situation, intent, tool)
  return closePlan(situation) ?? reportAnswer(situation, intent, documents, rendered)
}

const rendererTool = ({ tools }: Situation, { format }: ReportIntent) =>
  format === undefined ? undefined : findTool(tools, `write_${format}`)

function writeReport(situation: Situation, intent: ReportIntent, documents: readonly OpenDocument[]): Decision {
  return {
    kind: 'call',
    thinking: 'I have read what is needed and write the report.',
    notes: planProgress(situation.announce.plan, 'Write', 'I write the report.'),
    toolId: 'react.write',
    params: { path: reportPath, channel: 'canvas', content: reportOf(situation, documents, intent.about), kind: 'file' },
  }
}

/**
 * Calls the tool that renders the report. The call has only parameters that the tool accepts, in the order in which the tool lists them.
 */
function renderReport(situation: Situation, { format }: ReportIntent, tool: string): Decision {
  const given: JsonObject = {
    path: `outputs/report.${format}`,
    content: `ref:fi:${situation.turnId}.files/report.md`,
    format: 'markdown',
    title: 'Report',
  }
  const names = situation.tools.get(tool) ?? []
  return {
    kind: 'call',
    thinking: `The report is written; I render it as ${format?.toUpperCase()}.`,
    notes: planProgress(situation.announce.plan, 'Render', `I render the report as ${format?.toUpperCase()}.`),
    toolId: tool,
    params: Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))),
  }
}

function reportAnswer(
  situation: Situation,
  { format, about }: ReportIntent,
  documents: readonly OpenDocument[],
  rendered: CallRecord | undefined,
): Decision {
  const isRendered = rendered && !rendered.failed
  const missing =
    format !== undefined && !isRendered ? `\n\nIt could not be made into ${format.toUpperCase()} here, so it is Markdown.` : ''
  return answer(
    'The report is written.',
    joinParagraphs([
      `The report is in \`${isRendered ? `report.${format}` : 'report.md'}\`.${missing}`,
      reportChartNote(situation, documents, about),
      outlineOf(documents, about),
    ]),
    suggestFollowups(documents, situation.request),
  )
}

/** An answer with the whole report, for the case that files can not be written. */
const reportAsAnswer = (situation: Situation, documents: readonly OpenDocument[], { about }: ReportIntent): Decision =>
  answer('I can not write files here.', `I could not write a file, so here is the report.\n\n${reportOf(situation, documents, about)}`)

/**
 * An answer with a short outline of each document. For a text, it has the number of pages or the names of the sections, and quotes. For a
 * table, it has the number of rows, the columns and figures. The quotes are the first ones of the report about `about`. The outline for a
 * summary has the quotes of a report without a topic: `about` is empty.
 */
export function outlineOf(documents: readonly OpenDocument[], about: string): string {
  const topic = topicOf(about, documents)
  return readableOf(documents)
    .map((document) => {
      // The sections of a document of the knowledge base have the same citation, so they need headings that tell them apart.
      const isSection = document.origin === 'knowledge'
      const heading = isSection ? escapeMarkup(titleOf(document)) : mention(document)
      const points = document.table ? [] : passagesAbout(topic, document)
      const more = points.length - maxCentral
      return joinParagraphs([
        `### ${heading}`,
        overview(document),
        document.table ? figures(document.table) : quotes(points.slice(0, maxCentral)),
        more > 0 ? `The report has ${more} more ${more === 1 ? 'sentence' : 'sentences'}.` : '',
        isSection ? sourceOf(document) : '',
      ])
    })
    .join('\n\n')
}

/**
 * The outline for a file. The headings are file names and not citations, because people also read the file outside of the conversation,
 * where a citation is not replaced by a name.
 */
function fileOutlineOf(documents: readonly OpenDocument[], about: string): string {
  const topic = topicOf(about, documents)
  return readableOf(documents)
    .map((document) =>
      joinParagraphs([
        `## ${escapeMarkup(titleOf(document))}`,
        overview(document),
        document.table ? figures(document.table) : quotes(passagesAbout(topic, document)),
        sourceOf(document),
      ]),
    )
    .join('\n\n')
}

const sourceOf = (document: OpenDocument) => (document.sid === undefined ? '' : `Source: ${mention(document)}`)

const readableOf = (documents: readonly OpenDocument[]) => documents.filter(({ problem }) => problem === undefined)

const joinParagraphs = (paragraphs: readonly string[]) => paragraphs.filter((text) => text !== '').join('\n\n')

function reportOf(situation: Situation, documents: readonly OpenDocument[], about: string): string {
  const chart = chartBlock(situation, documents, about)
  const titles = [...new Set(documents.map((document) => escapeMarkup(titleOf(document))))]
  const problems = documents.flatMap(({ problem }) => (problem === undefined ? [] : [`- ${escapeMarkup(problem)}.`]))
  return [
    `# Report on ${titles.join(', ')}`,
    'Everything below is taken from the documents themselves, word for word where it is quoted.',
    ...(chart === undefined ? [] : [chart]),
    fileOutlineOf(documents, about),
    ...(problems.length > 0 ? ['## Not looked at', problems.join('\n')] : []),
    '',
  ].join('\n\n')
}

/**
 * The title of a document in a report. A section of the knowledge base has its heading as title, because its name is a path such as
 * `brakes.md#brake-fluid`.
 */
function titleOf({ name, origin, passages }: OpenDocument): string {
  return origin === 'knowledge' ? (passages[0]?.headings[0] ?? placeOf(name)) : name
}

/** The file and the place in it, for a section without a heading: `lease.pdf#page-2` is “lease.pdf, page 2”. */
function placeOf(name: string): string {
  const mark = name.lastIndexOf('#')
  const anchor = name.slice(mark + 1)
  if (mark < 1 || anchor.includes('.')) return name // a file such as C#.md
  const place = anchor.startsWith('page-') ? anchor.replace('-', ' ') : anchor.replace('L', 'lines ') // the second form is `#L81-160`
  return `${name.slice(0, mark)}, ${place}`
}

function overview({ passages, table, pages, partial }: OpenDocument): string {
  if (table) return `${table.rows.length} rows; columns: ${table.columns.map(escapeMarkup).join(', ')}.`
  const sections = [...new Set(passages.flatMap(({ headings }) => headings.slice(-1)))].slice(0, 12)
  return [
    ...(pages === undefined ? [] : [`${pages} ${pages === 1 ? 'page' : 'pages'}.`]),
    ...(sections.length > 1 ? [`Sections: ${sections.map(escapeMarkup).join(' · ')}.`] : []),
    ...(partial ? [`Only ${partial.seen} of ${partial.total} lines were looked at.`] : []),
  ].join(' ')
}

const quotes = (passages: readonly Passage[]): string =>
  passages.map(({ text, page }) => `- “${escapeMarkup(text)}”${page === undefined ? '' : ` (page ${page})`}`).join('\n')

function figures(table: Table): string {
  const numeric = columnsOf(table).filter(({ kind }) => kind === 'number')
  if (numeric.length === 0) return 'The figures of this table are its rows.'
  const lines = numeric.map((column) => {
    const numbers = numbersIn(table.rows, column)
    const sorted = numbers.toSorted(compare)
    const places = numbers.reduce((most, { scale }) => Math.max(most, scale), 0) // prices such as 418.40 keep their last zero
    const shown = [sumOf(numbers), averageOf(numbers).value, sorted[0] as Decimal, sorted.at(-1) as Decimal].map((value) =>
      decimalText(value, places),
    )
    return `| ${escapeMarkup(column.name)} | ${shown.join(' | ')} |`
  })
  return ['| column | total | average | lowest | highest |', '|---|---|---|---|---|', ...lines, '', 'Computed over all rows.'].join('\n')
}
