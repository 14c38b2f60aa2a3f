import { suggestFollowups } from '../../adapters/model/offline/decide/followups.ts'
import { escapeMarkup } from '../../adapters/model/offline/decide/quote.ts'
import { outlineOf, reportOf } from '../../adapters/model/offline/decide/report.ts'
import { findTool } from '../../adapters/model/offline/prompt/catalog.ts'
import type { JsonObject } from '../../core/json.ts'
import type { CallRecord, Situation } from '../prompt/situation.ts'
import { answer, type Decision } from './decision.ts'
import type { Intent } from './intent.ts'
import type { OpenDocument } from './open-documents.ts'
import { canCall, closePlan, planProgress } from './plan.ts'

type ReportIntent = Extract<Intent, { kind: 'report' }>

const reportPath = 'files/report.md'

export function reportSteps(situation: Situation, wish: ReportIntent): readonly string[] {
  return ['Write the report', ...(rendererTool(situation, wish) === undefined ? [] : [`Render it as ${wish.format?.toUpperCase()}`])]
}

/** Write it, render it when that was asked for and can be done, then say where it is. */
export function deliverReport(situation: Situation, wish: ReportIntent, documents: readonly OpenDocument[]): Decision {
  const written = situation.calls.find(({ toolId }) => toolId === 'react.write')
  if (!written && canCall(situation, 'react.write')) return writeReport(situation, wish, documents)
  if (!written || written.failed) return closePlan(situation) ?? reportAsAnswer(documents, wish)
  const tool = rendererTool(situation, wish)
  const rendered = situation.calls.find(({ toolId }) => toolId === tool)
  if (tool !== undefined && !rendered && canCall(situation, tool)) return renderReport(situation, wish, tool)
  return closePlan(situation) ?? reportAnswer(situation, wish, documents, { written, rendered })
}

const rendererTool = ({ tools }: Situation, { format }: ReportIntent) =>
  format === undefined ? undefined : findTool(tools, `write_${format}`)

function writeReport(situation: Situation, wish: ReportIntent, documents: readonly OpenDocument[]): Decision {
  return {
    kind: 'call',
    thinking: 'I have read what is needed and write the report.',
    notes: planProgress(situation.announced.plan, 'Write', 'I write the report.'),
    toolId: 'react.write',
    params: { path: reportPath, channel: 'canvas', content: reportOf(documents, wish.about), kind: wish.handed ? 'file' : 'display' },
  }
}

/** Parameters that the tool does not have are left out; the others keep its order. */
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
    notes: planProgress(situation.announced.plan, 'Render', `I render the report as ${format?.toUpperCase()}.`),
    toolId: tool,
    params: Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))),
  }
}

interface ReportCalls {
  readonly written: CallRecord
  readonly rendered: CallRecord | undefined
}

function reportAnswer(
  situation: Situation,
  { format }: ReportIntent,
  documents: readonly OpenDocument[],
  { rendered }: ReportCalls,
): Decision {
  const names = documents.map(({ name }) => `**${escapeMarkup(name)}**`).join(', ')
  const made = rendered && !rendered.failed
  const missing = format !== undefined && !made ? `\n\nIt could not be made into ${format.toUpperCase()} here, so it is Markdown.` : ''
  const outline = outlineOf(documents, '', '###')
  return answer(
    'The report is written.',
    `The report on ${names} is in \`${made ? `report.${format}` : 'report.md'}\`.${missing}\n\n${outline}`,
    suggestFollowups(documents, situation.request),
  )
}

/** Without a place to write to, the report is the answer. */
const reportAsAnswer = (documents: readonly OpenDocument[], { about }: ReportIntent): Decision =>
  answer('I can not write files here.', `I could not write a file, so here is the report.\n\n${reportOf(documents, about)}`)
