import type { Block } from '../core/block/envelope.ts'
import type { CostLedger, Sum } from '../core/cost/ledger.ts'
import { BILLION, promptTokens } from '../core/cost/price.ts'
import { columns } from './columns.ts'

const DEAREST = 10

/** What it cost, by turn, by role, by model, and the blocks that cost most. */
export function costTable(ledger: CostLedger, blocks: ReadonlyMap<string, Block>): string {
  if (ledger.calls.length === 0) return 'nothing was asked yet, so nothing was spent'
  const dearest = [...ledger.blocks].sort(([, a], [, b]) => b.money - a.money || promptTokens(b.tokens) - promptTokens(a.tokens))
  return [
    ...section('turn', ledger.turns),
    ...section('role', ledger.roles),
    ...section('model', ledger.models),
    ...section('dearest', new Map(dearest.slice(0, DEAREST).map(([key, sum]) => [named(key, blocks.get(key)), sum]))),
    `in all ${money(ledger.total)} for ${ledger.total.calls} calls`,
    ...(ledger.total.unpriced > 0 ? [`the price of ${ledger.total.unpriced} of them is not known: it is at least that`] : []),
    ...(ledger.calls.some(({ estimated }) => estimated) ? ['some calls had no bill: their tokens are estimated'] : []),
  ].join('\n')
}

function section(title: string, sums: ReadonlyMap<string, Sum>): readonly string[] {
  const heading = [title, 'cost', 'read', 'written', 'in full', 'said', 'reasoned']
  const rows = [...sums].map(([key, sum]) => {
    const { cacheRead, cacheWrite, uncached, output, reasoning } = sum.tokens
    return [key, money(sum), cacheRead, cacheWrite, uncached, output, reasoning]
  })
  return [...columns([heading, ...rows]), '']
}

const named = (key: string, block: Block | undefined) => (block ? `${key} ${block.path ?? block.type}` : key)

/** What is not known is not nothing. */
export function money({ money: billionths, calls, unpriced }: Sum): string {
  if (unpriced === calls) return '?'
  return `${unpriced > 0 ? '≥ ' : ''}$${(billionths / BILLION).toFixed(6)}`
}
