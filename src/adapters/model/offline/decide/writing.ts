import type { JsonObject } from '../../../../core/json.ts'
import { toolNamed } from '../prompt/catalog.ts'
import type { Called, Situation } from '../prompt/situation.ts'
import { answer, type Decision } from './decision.ts'
import { followupsFor } from './followups.ts'
import type { Opened } from './open.ts'
import { neutral } from './quote.ts'
import { outlineOf, reportOf } from './report.ts'
import { closePlan, mayCall, progress } from './steps.ts'
import type { Wish } from './wish.ts'

type ReportWish = Extract<Wish, { kind: 'report' }>

const file = 'files/report.md'

export function stepsOfReport(situation: Situation, wish: ReportWish): readonly string[] {
  return ['Write the report', ...(renderer(situation, wish) === undefined ? [] : [`Render it as ${wish.format?.toUpperCase()}`])]
}

/** Write it, render it when that was asked for and can be done, then say where it is. */
export function deliver(situation: Situation, wish: ReportWish, documents: readonly Opened[]): Decision {
  const written = situation.calls.find(({ toolId }) => toolId === 'react.write')
  if (!written && mayCall(situation, 'react.write')) return write(situation, wish, documents)
  if (!written || written.failed) return closePlan(situation) ?? inPlace(documents, wish)
  const tool = renderer(situation, wish)
  const rendered = situation.calls.find(({ toolId }) => toolId === tool)
  if (tool !== undefined && !rendered && mayCall(situation, tool)) return render(situation, wish, tool)
  return closePlan(situation) ?? handOver(situation, wish, documents, { written, rendered })
}

const renderer = ({ tools }: Situation, { format }: ReportWish) => (format === undefined ? undefined : toolNamed(tools, `write_${format}`))

function write(situation: Situation, wish: ReportWish, documents: readonly Opened[]): Decision {
  return {
    kind: 'call',
    thinking: 'I have read what is needed and write the report.',
    notes: progress(situation.announced.plan, 'Write', 'I write the report.'),
    toolId: 'react.write',
    params: { path: file, channel: 'canvas', content: reportOf(documents, wish.about), kind: wish.handed ? 'file' : 'display' },
  }
}

/** Parameters that the tool does not have are left out; the others keep its order. */
function render(situation: Situation, { format }: ReportWish, tool: string): Decision {
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
    notes: progress(situation.announced.plan, 'Render', `I render the report as ${format?.toUpperCase()}.`),
    toolId: tool,
    params: Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))),
  }
}

interface Made {
  readonly written: Called
  readonly rendered: Called | undefined
}

function handOver(situation: Situation, { format }: ReportWish, documents: readonly Opened[], { rendered }: Made): Decision {
  const names = documents.map(({ name }) => `**${neutral(name)}**`).join(', ')
  const made = rendered && !rendered.failed
  const missing = format !== undefined && !made ? `\n\nIt could not be made into ${format.toUpperCase()} here, so it is Markdown.` : ''
  const outline = outlineOf(documents, '', '###')
  return answer(
    'The report is written.',
    `The report on ${names} is in \`${made ? `report.${format}` : 'report.md'}\`.${missing}\n\n${outline}`,
    followupsFor(documents, situation.request),
  )
}

/** Without a place to write to, the report is the answer. */
const inPlace = (documents: readonly Opened[], { about }: ReportWish): Decision =>
  answer('I can not write files here.', `I could not write a file, so here is the report.\n\n${reportOf(documents, about)}`)
