import { peers as allPeers, type Metric, type Workload } from './catalog.ts'
import type { Measured } from './workloads/measured.ts'

/** The result of all runs of one workload with one framework: values, or the reason why there are no values. */
export type Result = { readonly measured: Measured } | { readonly problem: string }

/** Combines the values of several runs: the best number of each metric, or the word of the last run. */
export function combine(metrics: readonly Metric[], runs: readonly Measured[]): Measured {
  return Object.fromEntries(
    metrics.map(({ id, better }) => {
      const values = runs.map((run) => run[id] as number | string)
      const numbers = values.filter((value) => typeof value === 'number')
      if (numbers.length === 0) return [id, values.at(-1) as string]
      return [id, better === 'more' ? Math.max(...numbers) : Math.min(...numbers)]
    }),
  )
}

const introduction = `# Daybook and other frameworks

\`npm run bench:peers\` makes this page. \`bench/peers/README.md\` says what is compared, and what is not comparable. Numbers in
brackets are multiples of the number of Daybook. Compare numbers only within one section, because the speed of a machine changes.
`

/** The section of one workload: what it does, when and where it ran, and its table. */
export function sectionOf(workload: Workload, results: ReadonlyMap<string, Result>, when: string): string {
  const { name, title, about } = workload
  return `<!-- workload ${name} -->\n## ${title}\n\n${about}\n\n${when}:\n\n${tableOf(workload, results)}\n\n<!-- end of workload ${name} -->\n`
}

/** Returns the page with the section of the workload `name` replaced by `section`. The sections of other workloads stay as they are. */
export function pageWith(page: string, workloads: readonly Workload[], name: string, section: string): string {
  const sections = workloads.flatMap((workload) => {
    if (workload.name === name) return [section]
    const [start, end] = [page.indexOf(`<!-- workload ${workload.name} -->`), page.indexOf(`<!-- end of workload ${workload.name} -->`)]
    return start < 0 || end < 0 ? [] : [`${page.slice(start, end)}<!-- end of workload ${workload.name} -->\n`]
  })
  return `${introduction}\n${sections.join('\n')}`
}

/** The table of one workload. The lines below it say in which metrics another framework is better than Daybook. */
export function tableOf(workload: Workload, results: ReadonlyMap<string, Result>): string {
  const { metrics } = workload
  const titleOf = ({ title, unit }: Metric) => (unit === '' || unit === '/s' ? title : `${title} (${unit})`)
  const daybook = measuredBy('daybook', results)
  const rows = allPeers.flatMap(({ name, title, leavesOut }) => {
    const result = results.get(name)
    if (result === undefined) return leavesOut[workload.name] === undefined ? [] : [[title, `not run: ${leavesOut[workload.name]}`]]
    if ('problem' in result) return [[title, `failed: ${result.problem}`]]
    return [[title, ...metrics.map(({ id }) => cellOf(result.measured[id], name === 'daybook' ? undefined : daybook?.[id]))]]
  })
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: metrics.length + 1 }, (_, index) => cells[index] ?? '').join(' | ')} |`
  const lines = [line(['', ...metrics.map(titleOf)]), `|${'---|'.repeat(metrics.length + 1)}`, ...rows.map(line)]
  const verdicts = daybook === undefined ? [] : metrics.flatMap((metric) => verdictOf(metric, daybook, results))
  return verdicts.length === 0 ? lines.join('\n') : `${lines.join('\n')}\n\n${verdicts.map((verdict) => `- ${verdict}`).join('\n')}`
}

function measuredBy(name: string, results: ReadonlyMap<string, Result>): Measured | undefined {
  const result = results.get(name)
  return result !== undefined && 'measured' in result ? result.measured : undefined
}

/** Says which frameworks are better than Daybook. The loop without a framework is left out, because it does less than any framework. */
function verdictOf(metric: Metric, daybook: Measured, results: ReadonlyMap<string, Result>): readonly string[] {
  const ours = daybook[metric.id]
  if (metric.better === 'words' || typeof ours !== 'number') return []
  const isBetter = (value: number) => formatNumber(value) !== formatNumber(ours) && (metric.better === 'less' ? value < ours : value > ours)
  const others = allPeers.flatMap(({ name, title }) => {
    const value = name === 'daybook' || name === 'floor' ? undefined : measuredBy(name, results)?.[metric.id]
    return typeof value === 'number' && isBetter(value) ? [`${title} (${formatNumber(value)})`] : []
  })
  const unit = metric.unit === '' ? '' : ` ${metric.unit}`
  if (others.length === 0) return [`${metric.title}: no other framework is better than Daybook (${formatNumber(ours)}${unit}).`]
  return [`${metric.title}: better than Daybook (${formatNumber(ours)}${unit}): ${others.join(', ')}.`]
}

function cellOf(value: number | string | undefined, ours: number | string | undefined): string {
  if (typeof value !== 'number') return value ?? ''
  if (typeof ours !== 'number' || ours === 0) return formatNumber(value)
  return `${formatNumber(value)} (${formatNumber(value / ours)}×)`
}

/** Three significant digits, and no decimals from 100 on. */
export function formatNumber(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(value < 1 ? 2 : 3)))
}
