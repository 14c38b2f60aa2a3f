import type { RoundView } from 'daybook/client'
import { useMemo } from 'react'
import { formatCount, formatMoney, formatPercent } from '../model/inspect/figures.ts'
import { missSentence } from '../model/inspect/miss-sentence.ts'
import { foldedDifference, textDifference } from '../model/inspect/text-difference.ts'
import { BucketsBar } from '../primitives/buckets-bar.tsx'
import { Difference } from '../primitives/difference.tsx'

interface MissCardProps {
  readonly cache: NonNullable<RoundView['cache']>
  /** What the conversation has cost. */
  readonly money: number
  onBlock(key: string): void
}

/**
 * Why the provider did not use its cache. The card shows the reason in one sentence, how many tokens the provider should have read from its
 * cache and how many it did read, the first block that was not in the cache, how this block has changed, and what to do.
 */
export function MissCard({ cache, money, onBlock }: MissCardProps) {
  const { miss, predicted, billed, difference } = cache
  const lines = useMemo(
    () => (difference ? foldedDifference(textDifference(difference.before ?? '', difference.now ?? '')) : undefined),
    [difference],
  )
  if (!miss) return null
  const most = Math.max(...[predicted, billed].map((buckets) => (buckets ? buckets.read + buckets.write + buckets.uncached : 0)))
  const block = miss.block
  return (
    <details className="group border-b border-line" data-testid="miss" data-avoidable={miss.avoidable}>
      <summary
        className={`flex cursor-pointer items-center gap-2 px-4 py-2 text-sm ${miss.avoidable ? 'bg-tint text-accent' : 'bg-raised text-soft'}`}
      >
        <span className="font-medium">{missSentence(miss)}</span>
        <span className="ml-auto shrink-0 text-xs underline underline-offset-2 group-open:hidden">Why?</span>
      </summary>
      <div className="max-h-[45dvh] space-y-3 overflow-y-auto px-4 py-3 text-sm">
        <p>
          {miss.words.charAt(0).toUpperCase() + miss.words.slice(1)}.{' '}
          {miss.money !== null && money > 0 && (
            <span className="text-soft">
              {formatMoney(miss.money)} is {formatPercent(miss.money / money)} of what this conversation has cost.
            </span>
          )}
        </p>
        <div className="grid max-w-xl grid-cols-[5.5rem_1fr_auto] items-center gap-x-3 gap-y-1 text-xs">
          {(
            [
              ['expected', predicted],
              ['billed', billed],
            ] as const
          ).map(([name, buckets]) => (
            <div key={name} className="contents">
              <span className="text-soft">{name}</span>
              {buckets ? (
                <BucketsBar {...buckets} most={most} label={`${name}: ${buckets.read} read`} />
              ) : (
                <span className="text-soft">not reported</span>
              )}
              <span className="tabular-nums">{buckets ? `${formatCount(buckets.read)} read` : ''}</span>
            </div>
          ))}
        </div>
        {block !== null && (
          <p>
            <span className="text-soft">First block that was not in the cache: </span>
            <button
              type="button"
              className="font-mono text-xs text-accent underline underline-offset-2"
              onClick={() => onBlock(block)}
              data-testid="miss-block"
            >
              {block} {miss.block_path ?? miss.block_type ?? ''}
            </button>
          </p>
        )}
        {lines && <Difference lines={lines} label="The block before and now" />}
        {!lines && causesWithText.has(miss.cause) && (
          <p className="text-soft">
            The earlier text of the block was not recorded. If the setting `recordPrompts` is on, the difference is shown here.
          </p>
        )}
        <p>
          <span className="text-soft">What to do: </span>
          {miss.advice}
        </p>
      </div>
    </details>
  )
}

const causesWithText: ReadonlySet<string> = new Set(['rendered differently'])
