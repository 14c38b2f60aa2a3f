import { useState } from 'react'
import { Link } from 'wouter'
import type { RoundBar } from '../model/inspect/cost-series.ts'
import { formatCount, formatMoney, formatPercent, formatShort } from '../model/inspect/figures.ts'
import { missSentence } from '../model/inspect/miss-sentence.ts'
import { bucketColors } from '../primitives/buckets-bar.tsx'

const buckets = ['read', 'write', 'uncached', 'output'] as const
const height = 160
/** The greatest width of a bar with its gap, in pixels. Bars are narrower if there are too many for the window. */
const widestBar = 41

interface RoundChartProps {
  readonly bars: readonly RoundBar[]
  nameOf(bar: RoundBar): string
  hrefOf(bar: RoundBar): string
}

/**
 * A bar for each round. It shows the tokens that were read from the cache, written to it, not cached, and written by the model. A round
 * with a cache miss has a dot.
 */
export function RoundChart({ bars, nameOf, hrefOf }: RoundChartProps) {
  const [shown, setShown] = useState<number>()
  const most = Math.max(1, ...bars.map(sum))
  const bar = bars[shown ?? bars.length - 1]
  return (
    <div>
      <div className="relative mt-2 flex" onPointerLeave={() => setShown(undefined)}>
        <div
          className="flex w-10 shrink-0 flex-col justify-between pr-2 text-right text-[11px] leading-3 tabular-nums text-soft"
          style={{ height }}
        >
          <span>{formatShort(most)}</span>
          <span>{formatShort(most / 2)}</span>
          <span>0</span>
        </div>
        <div className="flex min-w-0 flex-1 items-end gap-px border-b border-line" style={{ height }} data-testid="round-chart">
          {bars.map((each, index) => (
            <Link
              key={each.seq}
              href={hrefOf(each)}
              aria-label={`${nameOf(each)}: ${labelOf(each)}`}
              className={`relative flex h-full min-w-0 max-w-10 flex-1 flex-col justify-end outline-offset-[-2px] ${shown === undefined || shown === index ? '' : 'opacity-60'}`}
              onPointerEnter={() => setShown(index)}
              onFocus={() => setShown(index)}
            >
              {each.miss && <span className={`mx-auto mb-1 size-1.5 rounded-full ${each.miss.avoidable ? 'bg-accent' : 'bg-faint'}`} />}
              {buckets.toReversed().map((name) => (
                <span
                  key={name}
                  data-bucket={name}
                  className="w-full"
                  style={{ height: (each[name] / most) * (height - 12), background: bucketColors[name] }}
                />
              ))}
            </Link>
          ))}
        </div>
      </div>
      {bar && (
        <p className="mt-1 min-h-10 pl-10 text-xs text-soft" aria-live="polite">
          {nameOf(bar)}: {formatCount(bar.read)} read, {formatCount(bar.write)} written, {formatCount(bar.uncached)} in full,{' '}
          {formatCount(bar.output)} output, {formatMoney(bar.money)}
          {bar.miss ? `. ${missSentence(bar.miss)}` : '.'}
        </p>
      )}
    </div>
  )
}

const sum = ({ read, write, uncached, output }: RoundBar): number => read + write + uncached + output

const labelOf = (bar: RoundBar): string => `${formatCount(sum(bar))} tokens, ${formatMoney(bar.money)}${bar.miss ? ', cache miss' : ''}`

/** Which share of each prompt was read from the cache. */
export function HitRateChart({ bars }: { readonly bars: readonly RoundBar[] }) {
  const points = bars.flatMap(({ hitRate }, index) =>
    hitRate === null ? [] : [[((index + 0.5) / bars.length) * 1000, (1 - hitRate) * 100] as const],
  )
  const known = bars.flatMap(({ hitRate }) => hitRate ?? [])
  const last = known.at(-1)
  return (
    <div className="mt-2 flex">
      <div className="flex h-16 w-10 shrink-0 flex-col justify-between pr-2 text-right text-[11px] leading-3 text-soft">
        <span className="whitespace-nowrap">100 %</span>
        <span>0</span>
      </div>
      <svg
        className="h-16 min-w-0 flex-1 overflow-visible border-b border-line text-accent"
        viewBox="0 0 1000 100"
        preserveAspectRatio="none"
        role="img"
        style={{ maxWidth: bars.length * widestBar }} // as wide as the bars of `RoundChart`
        aria-label={`Hit rate over ${bars.length} rounds, at last ${last === undefined ? 'not known' : formatPercent(last)}`}
      >
        <polyline
          points={points.map(([x, y]) => `${x},${y}`).join(' ')}
          fill="none"
          stroke="currentColor"
          strokeWidth="2"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
    </div>
  )
}
