import type { CostView } from 'daybook/client'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { client } from '../data/session.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { type RoundBar, roundBars } from '../model/inspect/cost-series.ts'
import { formatCount, formatMoney, formatPercent } from '../model/inspect/figures.ts'
import { missSentence } from '../model/inspect/miss-sentence.ts'
import { TokenFigures } from '../primitives/buckets-bar.tsx'
import { Figure } from '../primitives/figure.tsx'
import { Notice } from '../primitives/notice.tsx'
import { promptPath, timelinePath } from '../routes.ts'
import { CallTable, SumTable } from './cost-tables.tsx'
import { HitRateChart, RoundChart } from './round-chart.tsx'

/** What a conversation has cost: by call, turn, model and block. */
export function CostScreen({ id, version, limits }: { readonly id: string; readonly version: number; readonly limits: readonly string[] }) {
  const { value, error } = useLoaded(`${id} ${version}`, () => client.cost(id))
  if (error !== undefined) return <Notice alert title={error} />
  if (!value) return <div className="flex-1" aria-busy="true" />
  if (value.calls.length === 0) return <Notice title="The model was not asked yet." />
  return <Costs id={id} cost={value} limits={limits} />
}

function Costs({ id, cost, limits }: { readonly id: string; readonly cost: CostView; readonly limits: readonly string[] }) {
  const bars = useMemo(() => roundBars(cost), [cost])
  const { tokens, money, unpriced, calls } = cost.total
  const missed = bars.filter(({ miss }) => miss)
  const turns = Object.keys(cost.turns)
  const roundName = ({ turnId, iteration }: Pick<RoundBar, 'turnId' | 'iteration'>) =>
    `Turn ${turns.indexOf(turnId) + 1}, round ${iteration + 1}`
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Cost">
      <div className="mx-auto max-w-5xl space-y-8 px-4 py-6">
        <dl className="grid grid-cols-2 gap-4 sm:grid-cols-4 lg:grid-cols-7">
          <Figure label="Cost" name="total">
            {formatMoney(money, unpriced)}
          </Figure>
          <Figure label="Calls" name="calls">
            {formatCount(calls)}
          </Figure>
          <Figure label="Hit rate" name="hit-rate">
            {formatPercent(cost.cache.hit_rate)}
          </Figure>
          <TokenFigures
            read={tokens.cache_read}
            write={tokens.cache_write}
            uncached={tokens.uncached}
            output={tokens.output}
            format={formatCount}
          />
        </dl>
        <p className="text-sm text-soft">
          Tokens of prompts are read from the cache of the provider, written to it, or paid in full. The hit rate is the share that was
          read.
        </p>
        {limits.length > 0 && <p className="text-sm text-soft">Limits: {limits.join(', ')}.</p>}
        <section aria-label="Rounds">
          <h2 className="text-sm font-medium">Tokens per round</h2>
          <p className="text-xs text-soft">Each bar opens the prompt of its round. A dot marks a cache miss.</p>
          <RoundChart bars={bars} nameOf={roundName} hrefOf={(bar) => promptPath(id, bar.turnId, bar.iteration)} />
          <h2 className="mt-5 text-sm font-medium">Hit rate per round</h2>
          <HitRateChart bars={bars} />
        </section>
        {missed.length > 0 && (
          <section aria-label="Cache misses">
            <h2 className="text-sm font-medium">Cache misses</h2>
            <ul className="mt-2 divide-y divide-line rounded-md border border-line text-sm">
              {missed.map(({ seq, turnId, iteration, miss }) => (
                <li key={seq} data-miss={miss?.cause} className="flex flex-wrap items-baseline gap-x-3 px-3 py-2">
                  <span className="w-36 shrink-0 text-xs text-soft">{roundName({ turnId, iteration })}</span>
                  <Link
                    href={promptPath(id, turnId, iteration)}
                    className={`min-w-0 hover:underline ${miss?.avoidable ? 'text-accent' : 'text-soft'}`}
                  >
                    {miss && missSentence(miss)}
                  </Link>
                  {miss?.block != null && (
                    <Link href={timelinePath(id, miss.block)} className="font-mono text-xs text-accent underline underline-offset-2">
                      {miss.block} {miss.block_type}
                    </Link>
                  )}
                </li>
              ))}
            </ul>
          </section>
        )}
        <SumTable title="By turn" rows={Object.entries(cost.turns)} nameOf={(key) => `Turn ${turns.indexOf(key) + 1}`} />
        <SumTable title="By model" rows={Object.entries(cost.models)} nameOf={(key) => (key === '' ? 'unknown' : key)} />
        <SumTable title="By purpose" rows={Object.entries(cost.roles)} nameOf={(key) => roleNames[key] ?? key} />
        <SumTable
          title="By block, the most expensive first"
          rows={Object.entries(cost.blocks).toSorted(([, one], [, other]) => other.money - one.money || total(other) - total(one))}
          nameOf={(key) => blockNames[key] ?? key}
          hrefOf={(key) => (key in blockNames ? undefined : timelinePath(id, key))}
        />
        <CallTable
          calls={cost.calls}
          turns={turns}
          hrefOf={(call) => (call.role === 'decision' ? promptPath(id, call.turn_id, call.iteration) : undefined)}
        />
      </div>
    </div>
  )
}

const total = ({ tokens }: CostView['total']): number => tokens.uncached + tokens.cache_read + tokens.cache_write + tokens.output

const roleNames: Readonly<Record<string, string>> = { decision: 'decisions', gate: 'titles', compaction: 'summaries', child: 'sub-agents' }
const blockNames: Readonly<Record<string, string>> = {
  system: 'System text',
  tail: 'Tail: sources and announce',
  gate: 'Prompts for titles',
  compaction: 'Prompts for summaries',
  unused: 'Output that is in no block',
}
