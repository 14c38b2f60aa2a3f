import type { Block } from '../../core/block/block.ts'
import type { CostReport, Sum } from '../../core/cost/cost.ts'
import { BILLION, promptTokens } from '../../core/cost/price.ts'
import { columns, formatPercent, plural } from '../table.ts'
import type { Style } from '../terminal.ts'
import { plainLine } from '../terminal.ts'

const shownBlocks = 10

/** What it cost, by turn, by role, by model, and the blocks that cost most. */
export function costTable(ledger: CostReport, blocks: ReadonlyMap<string, Block>, style: Style): string {
  if (ledger.calls.length === 0) return 'nothing was asked yet, so nothing was spent'
  const dearest = [...ledger.blocks].sort(([, a], [, b]) => b.money - a.money || promptTokens(b.tokens) - promptTokens(a.tokens))
  const section = (title: string, sums: ReadonlyMap<string, Sum>) => {
    const [heading = '', ...lines] = columns(cellsOf(title, sums, ledger.total))
    return [style.dim(heading), ...lines, '']
  }
  return [
    ...section('turn', ledger.turns),
    ...section('role', ledger.roles),
    ...section('model', ledger.models),
    ...section('dearest', new Map(dearest.slice(0, shownBlocks).map(([key, sum]) => [blockLabel(key, blocks.get(key)), sum]))),
    style.bold(`in all ${formatMoney(ledger.total)} for ${plural(ledger.total.calls, 'call')}`),
    ...unpricedLines(ledger),
    ...(ledger.calls.some(({ estimated }) => estimated) ? ['some calls had no bill: their tokens are estimated'] : []),
  ].join('\n')
}

function unpricedLines({ models, total: { unpriced, calls } }: CostReport): readonly string[] {
  if (unpriced === 0) return []
  const strangers = [...models].filter(([, sum]) => sum.unpriced > 0).map(([name]) => name || 'a model without a name')
  const which = `no price is known for ${plainLine(strangers.join(', '))}`
  return [unpriced === calls ? which : `at least that: ${which} (${plural(unpriced, 'call')})`]
}

/** What nobody did, thinking or paying, has no column. */
function cellsOf(title: string, sums: ReadonlyMap<string, Sum>, { money: all }: Sum) {
  const thought = [...sums.values()].some(({ tokens }) => tokens.reasoning > 0)
  const shared = (sum: Sum) => (all > 0 ? [sum.unpriced === sum.calls ? '?' : formatPercent(sum.money / all)] : [])
  const heading = [title, 'cost', ...(all > 0 ? ['share'] : []), 'read', 'written', 'in full', 'said', ...(thought ? ['reasoned'] : [])]
  const rows = [...sums].map(([key, sum]) => {
    const { cacheRead, cacheWrite, uncached, output, reasoning } = sum.tokens
    return [plainLine(key), formatMoney(sum), ...shared(sum), cacheRead, cacheWrite, uncached, output, ...(thought ? [reasoning] : [])]
  })
  return [heading, ...rows]
}

const blockLabel = (key: string, block: Block | undefined) => (block ? `${key} ${block.path ?? block.type}` : key)

/** What is not known is not nothing. */
export function formatMoney({ money: billionths, calls, unpriced }: Sum): string {
  if (unpriced === calls) return '?'
  return `${unpriced > 0 ? '≥ ' : ''}$${(billionths / BILLION).toFixed(6)}`
}
