import { Command } from 'commander'
import type { Block } from '../../core/block/block.ts'
import { type CostReport, costReport, type Sum } from '../../core/cost/cost.ts'
import { BILLION, promptTokens } from '../../core/cost/price.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { blocksOfChange } from '../../core/timeline/change.ts'
import { bookkeeping } from '../../wiring/models.ts'
import type { CommandContext } from '../context.ts'
import { reportJson, withJournal } from '../journal.ts'
import { withExamples } from '../options.ts'
import { columns, formatPercent, plural } from '../table.ts'
import { plainLine, printLine, type Style } from '../terminal.ts'

export function costCommand(context: CommandContext): Command {
  const command = new Command('cost')
    .description('what a conversation has cost, by turn, role, model and block')
    .argument('<conversation>')
    .option('--json', 'print JSON; money is in billionths of a dollar')
    .action((id: string, { json }: { json?: true }) =>
      withJournal(context, id, (journal) => {
        const report = costReport(journal, { chargeOf: bookkeeping.chargeOf, count: roughTokens })
        const blocks = new Map(journal.flatMap(({ change }) => blocksOfChange(change).map((block) => [block.id, block] as const)))
        printLine(context.terminal, json ? reportJson(report) : costTable(report, blocks, context.style))
      }),
    )
  return withExamples(command, [['daybook cost costs --json | jq .total', '']])
}

/** How many blocks the table shows. They are the most expensive ones. */
const shownBlocks = 10

/** Tables of the cost by turn, by role and by model, and of the most expensive blocks. A summary comes last. */
export function costTable(report: CostReport, blocks: ReadonlyMap<string, Block>, style: Style): string {
  if (report.calls.length === 0) return 'no model was called yet: nothing was spent'
  const byCost = [...report.blocks].sort(([, a], [, b]) => b.money - a.money || promptTokens(b.tokens) - promptTokens(a.tokens))
  const section = (title: string, sums: ReadonlyMap<string, Sum>) => {
    const [heading = '', ...lines] = columns(cellsOf(title, sums, report.total))
    return [style.dim(heading), ...lines, '']
  }
  return [
    ...section('turn', report.turns),
    ...section('role', report.roles),
    ...section('model', report.models),
    ...section('block', new Map(byCost.slice(0, shownBlocks).map(([key, sum]) => [blockLabel(key, blocks.get(key)), sum]))),
    style.bold(`total ${formatMoney(report.total)} for ${plural(report.total.calls, 'call')}`),
    ...unpricedLines(report),
    ...(report.calls.some(({ estimated }) => estimated) ? ['some calls were not billed: their tokens are estimated'] : []),
  ].join('\n')
}

function unpricedLines({ models, total: { unpriced, calls } }: CostReport): readonly string[] {
  if (unpriced === 0) return []
  const names = [...models].filter(([, sum]) => sum.unpriced > 0).map(([name]) => name || 'a model without a name')
  const reason = `no price is known for ${plainLine(names.join(', '))}`
  return [unpriced === calls ? reason : `at least that: ${reason} (${plural(unpriced, 'call')})`]
}

/**
 * The cells of one table. The column `reasoning` is left out when no model reported reasoning tokens. The column `share` is left out when
 * the total is 0.
 */
function cellsOf(title: string, sums: ReadonlyMap<string, Sum>, { money: totalMoney }: Sum) {
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
