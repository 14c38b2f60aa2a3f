import { Command } from 'commander'
import type { EffectsView } from '../../core/api/report.ts'
import type { Block } from '../../core/block/block.ts'
import { type Buckets, type CacheReport, type CacheRow, cacheReport } from '../../core/cache/cache-report.ts'
import { type CostReport, costReport, type Sum } from '../../core/cost/cost.ts'
import { BILLION, type ChargeOf, promptTokens } from '../../core/cost/price.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { blocksOfChange } from '../../core/timeline/change.ts'
import { bookkeeping, bookkeepingWith } from '../../wiring/models.ts'
import type { CommandContext } from '../context.ts'
import { describeError } from '../errors.ts'
import { reportJson, withJournal } from '../journal.ts'
import { withExamples } from '../options.ts'
import { columns, formatNumber, formatPercent, plural } from '../table.ts'
import { plainLine, printLine, type Style } from '../terminal.ts'

export function costCommand(context: CommandContext): Command {
  const command = new Command('cost')
    .description('what a conversation has cost, by turn, role, model and block')
    .argument('<conversation>')
    .option('--json', 'print JSON; money is in billionths of a dollar')
    .action((id: string, { json }: { json?: true }) =>
      withJournal(context, id, async (journal) => {
        const chargeOf = await chargesOf(context)
        const report = costReport(journal, { chargeOf, count: roughTokens })
        const blocks = new Map(journal.flatMap(({ change }) => blocksOfChange(change).map((block) => [block.id, block] as const)))
        printLine(context.terminal, json ? reportJson(report) : costTable(report, blocks, context.style))
      }),
    )
  return withExamples(command, [['daybook cost costs --json | jq .total', '']])
}

/**
 * The prices of the agent in the settings. If the module of the agent has an error, the list prices are used, so that the report can still
 * be made.
 */
async function chargesOf(context: CommandContext): Promise<ChargeOf> {
  try {
    const { agent } = await context.settingsWithAgent()
    return bookkeepingWith(agent?.settings).chargeOf
  } catch (error) {
    context.terminal.errors.write(`list prices are used, because the agent can not be loaded: ${describeError(error)}\n`)
    return bookkeeping.chargeOf
  }
}

/** How many blocks the table shows. They are the most expensive ones. */
const shownBlocks = 10

/** Tables of the cost by turn, by role and by model, and of the most expensive blocks. A summary comes last. */
export function costTable(report: CostReport, blocks: ReadonlyMap<string, Block>, style: Style): string {
  if (report.calls.length === 0) return 'no model was called yet: nothing was spent'
  const byCost = [...report.blocks].sort(([, a], [, b]) => b.money - a.money || promptTokens(b.tokens) - promptTokens(a.tokens))
  const section = (title: string, sums: ReadonlyMap<string, Sum>) => {
    const [heading = '', ...lines] = columns(cellsOfSums(title, sums, report.total))
    return [style.dim(heading), ...lines, '']
  }
  return [
    ...section('turn', report.turns),
    ...section('role', report.roles),
    ...section('model', report.models),
    ...section('block', new Map(byCost.slice(0, shownBlocks).map(([key, sum]) => [blockLabel(key, blocks.get(key)), sum]))),
    style.bold(`total ${formatMoney(report.total)} for ${plural(report.total.calls, 'call')}`),
    ...unpricedLines(report),
    ...(report.calls.some(({ estimated }) => estimated) ? ['some calls reported no usage: their tokens are estimated'] : []),
  ].join('\n')
}

function unpricedLines({ models, total: { unpriced, calls } }: CostReport): readonly string[] {
  if (unpriced === 0) return []
  const names = [...models].filter(([, sum]) => sum.unpriced > 0).map(([name]) => name || 'a model without a name')
  const reason = `no price is known for ${plainLine(names.join(', '))}`
  return [unpriced === calls ? reason : `the real total may be higher: ${reason} (${plural(unpriced, 'call')})`]
}

/**
 * The cells of one table. The column `reasoning` is left out when no model reported reasoning tokens. The column `share` is left out when
 * the total is 0.
 */
function cellsOfSums(title: string, sums: ReadonlyMap<string, Sum>, { money: totalMoney }: Sum) {
  const reasoned = [...sums.values()].some(({ tokens }) => tokens.reasoning > 0)
  const share = (sum: Sum) => (totalMoney > 0 ? [sum.unpriced === sum.calls ? '?' : formatPercent(sum.money / totalMoney)] : [])
  const shareHeading = totalMoney > 0 ? ['share'] : []
  const heading = [title, 'cost', ...shareHeading, 'read', 'written', 'in full', 'output', ...(reasoned ? ['reasoning'] : [])]
  const rows = [...sums].map(([key, sum]) => {
    const { cacheRead, cacheWrite, uncached, output, reasoning } = sum.tokens
    return [plainLine(key), formatMoney(sum), ...share(sum), cacheRead, cacheWrite, uncached, output, ...(reasoned ? [reasoning] : [])]
  })
  return [heading, ...rows]
}

const blockLabel = (key: string, block: Block | undefined) => (block ? `${key} ${block.path ?? block.type}` : key)

/** Formats a sum of money. It is `?` if no price is known. It begins with `≥` if only some prices are known. */
export function formatMoney({ money: billionths, calls, unpriced }: Sum): string {
  if (unpriced === calls) return '?'
  return `${unpriced > 0 ? '≥ ' : ''}$${(billionths / BILLION).toFixed(6)}`
}

export function cacheCommand(context: CommandContext): Command {
  const command = new Command('cache')
    .description('what each call read from the provider’s cache, what it should have read, and why it did not')
    .argument('<conversation>')
    .option('--json', 'print JSON')
    .action((id: string, { json }: { json?: true }) =>
      withJournal(context, id, (journal) => {
        const report = cacheReport(journal, { rulesOf: bookkeeping.rulesOf, count: roughTokens })
        printLine(context.terminal, json ? reportJson(report) : cacheTable(report, context.style))
      }),
    )
  return withExamples(command, [['daybook cache costs', '']])
}

/** A table with a line for each round, and a summary. If the cache missed in a round, a second line gives the reason. */
export function cacheTable({ rows, billed, hitRate, misses }: CacheReport, style: Style): string {
  if (rows.length === 0) return 'no model was called yet'
  const cells = rows.map((row, index) => cellsOfRound(row, rows[index - 1]))
  const [heading = '', ...lines] = columns([['turn', 'round', 'hit', 'read', 'expected', 'written', 'in full'], ...cells])
  const rounds = rows.flatMap(({ miss }, index) => [
    lines[index] ?? '',
    ...(miss ? [style.failure(`    ✗ ${miss.cause}: ${plainLine(miss.words)} (${plural(miss.tokens, 'token')})`)] : []),
  ])
  const lost = misses.reduce((sum, { miss }) => sum + (miss?.tokens ?? 0), 0)
  return [
    style.dim(heading),
    ...rounds,
    '',
    `${style.bold(`hit rate ${formatPercent(hitRate)}`)}: read ${formatNumber(billed.read)}, written ${formatNumber(billed.write)}, in full ${formatNumber(billed.uncached)}`,
    misses.length === 0 ? style.success('no misses') : `${plural(misses.length, 'miss', 'misses')}: ${plural(lost, 'token')} paid again`,
    ...(rows.some(({ predicted }) => !predicted)
      ? ['the cache rules of some models are not known, so the table can not say what they should have read (–)']
      : []),
  ].join('\n')
}

/** The cells of one round. The id of a turn is shown only in its first round. */
const cellsOfRound = ({ turnId, iteration, predicted, billed }: CacheRow, previous: CacheRow | undefined): readonly (string | number)[] => [
  previous?.turnId === turnId ? '' : plainLine(turnId),
  iteration,
  billed ? hitRateOf(billed) : '?',
  billed?.read ?? '?',
  predicted?.read ?? '–',
  billed?.write ?? '?',
  billed?.uncached ?? '?',
]

const hitRateOf = ({ read, write, uncached }: Buckets) => formatPercent(read / Math.max(1, read + write + uncached), 0)

export function effectsCommand(context: CommandContext): Command {
  const { terminal, style, withConversations } = context
  const command = new Command('effects')
    .description('what the tools of a conversation have done: done, failed, unknown and waiting calls')
    .argument('<conversation>')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: { json?: true }) => {
      const { agent } = await context.settingsWithAgent()
      const readOnly = new Set(agent?.tools?.flatMap((tool) => (tool.readOnly ? [tool.id] : [])))
      await withConversations(async (client) => {
        const view = await client.effects(id)
        const effects = view.effects.filter(({ tool_id }) => !readOnly.has(tool_id))
        printLine(terminal, json ? JSON.stringify({ effects }, undefined, 1) : effectsTable(effects, style))
      })
    })
  return withExamples(command, [
    ['daybook effects costs', ''],
    ['daybook effects costs --json | jq \'.effects[] | select(.status == "unknown")\'', 'calls that a person has to look at'],
  ])
}

type Row = EffectsView['effects'][number]

/** A table with a line for each call, and a summary. */
export function effectsTable(effects: readonly Row[], style: Style): string {
  if (effects.length === 0) return 'no tool has changed anything'
  const [, ...lines] = columns([
    ['', '', '', ''],
    ...effects.map(({ called_at, status, tool_id, call_id }) => [called_at, status, plainLine(tool_id), call_id]),
  ])
  const rows = effects.flatMap(({ status, error }, index) => {
    const line = lines[index] ?? ''
    const shown = status === 'unknown' ? style.failure(line) : line
    return error ? [shown, style.dim(`    ${plainLine(`${error.code}: ${error.message}`)}`)] : [shown]
  })
  const unknown = effects.filter(({ status }) => status === 'unknown').length
  const summary = `${plural(effects.length, 'call')}${unknown > 0 ? `, ${unknown} with an unknown outcome` : ''}`
  return [...rows, '', style.bold(summary)].join('\n')
}
