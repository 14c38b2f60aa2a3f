import type { Situation } from '../prompt/situation.ts'
import { barChart } from '../table/bar-chart.ts'
import { canRunPrograms, groupsFor, readProgramResult, tableCell } from './answer-from-table.ts'
import { type Decision, escapeMarkup } from './decision.ts'
import type { OpenDocument } from './open-documents.ts'
import { canCall, planProgress } from './plan.ts'

const chartPath = 'files/chart.svg'
const chartWords = /\b(?:chart|plot|graph|bars?|diagramm?|balken\w*)\b/i

const wantsChart = ({ request }: Situation) => chartWords.test(request)
const writtenChart = ({ calls }: Situation) => calls.find(({ toolId, params }) => toolId === 'react.write' && params?.path === chartPath)

/**
 * The decision to write the chart that the request asks for. Undefined if the request asks for no chart, or if the chart was already
 * written or refused.
 */
export function drawChart(situation: Situation, documents: readonly OpenDocument[]): Decision | undefined {
  if (!wantsChart(situation) || writtenChart(situation) || !canCall(situation, 'react.write')) return undefined
  const found = groupsFor(situation.request, documents, readProgramResult(situation))
  if (!found) return undefined
  return {
    kind: 'call',
    thinking: `I have ${found.bars.length} values, so I draw a bar for each.`,
    notes: planProgress(situation.announce.plan, 'Draw', 'I draw the chart.'),
    toolId: 'react.write',
    params: { path: chartPath, channel: 'canvas', content: barChart(found.title, found.bars), kind: 'file' },
  }
}

/**
 * The chart of a report, as a block that documents show as bars. `about` is what the request says after the word “report”. Undefined if the
 * request asks for no chart, or if there are no values for it.
 */
export function chartBlock(situation: Situation, documents: readonly OpenDocument[], about: string): string | undefined {
  const found = wantsChart(situation) ? groupsFor(about, documents, undefined) : undefined
  if (!found) return undefined
  const rows = found.bars.map(({ name, value }) => `| ${tableCell(name)} | ${value} |`)
  return ['```chart bar '.concat(oneLine(found.title)), '| | |', '|---|---|', ...rows, '```'].join('\n')
}

const oneLine = (text: string): string => escapeMarkup(text).replace(/[\s`]+/g, ' ')

/** The text of the answer about the chart of a report. Empty if the request asks for no chart. */
export function reportChartNote(situation: Situation, documents: readonly OpenDocument[], about: string): string {
  if (!wantsChart(situation)) return ''
  return chartBlock(situation, documents, about) === undefined
    ? `The report has no chart. ${noGroups}`
    : 'The report begins with the chart.'
}

const noGroups = 'A chart needs one value for each name. Ask for example for the total of a column by another column.'

/** The text of the answer about the chart. Empty if the request asks for no chart. */
export function chartNote(situation: Situation, documents: readonly OpenDocument[]): string {
  if (!wantsChart(situation)) return ''
  const found = groupsFor(situation.request, documents, readProgramResult(situation))
  if (!found) return noGroups
  const written = writtenChart(situation)
  const state = !written
    ? 'I could not write a file for the chart.'
    : written.failed
      ? 'The chart was not written.'
      : 'The chart is in `chart.svg`.'
  return canRunPrograms(situation) ? state : `${state} Programs can not run here, so I computed the values from the rows myself.`
}
