import { ChevronFirst, ChevronLast, ChevronLeft, ChevronRight } from 'lucide-react'
import { memo } from 'react'
import { IconButton } from '../primitives/button.tsx'

interface ScrubberProps {
  readonly count: number
  readonly at: number
  /** A description of the entry at the position `at`. */
  readonly words: string
  /** The positions of the entries that begin a turn. */
  readonly turns: readonly number[]
  onMove(at: number): void
}

/** Moves through the entries of the journal. Everything on the screen shows the conversation as it was after the chosen entry. */
export const Scrubber = memo(function Scrubber({ count, at, words, turns, onMove }: ScrubberProps) {
  const isNow = at >= count
  return (
    <div className="border-t border-line bg-side px-3 py-2 pb-[max(0.5rem,env(safe-area-inset-bottom))]">
      <div className="flex items-center gap-1">
        <IconButton label="First entry" disabled={at <= 1} onClick={() => onMove(1)} className="max-sm:hidden">
          <ChevronFirst size={16} />
        </IconButton>
        <IconButton label="Previous entry" disabled={at <= 1} onClick={() => onMove(at - 1)}>
          <ChevronLeft size={16} />
        </IconButton>
        <div className="relative min-w-0 flex-1">
          <Ticks count={count} turns={turns} />
          <input
            type="range"
            aria-label="Entry"
            aria-valuetext={`entry ${at} of ${count}: ${words}`}
            min={Math.min(1, count)}
            max={count}
            value={at}
            onChange={(event) => onMove(Number(event.target.value))}
            className="relative block h-6 w-full accent-accent"
          />
        </div>
        <IconButton label="Next entry" disabled={isNow} onClick={() => onMove(at + 1)}>
          <ChevronRight size={16} />
        </IconButton>
        <IconButton label="Now" disabled={isNow} onClick={() => onMove(count)}>
          <ChevronLast size={16} />
        </IconButton>
      </div>
      <p className="truncate px-1 text-xs text-soft" aria-live="polite">
        <span className="tabular-nums" data-figure="entry">
          {isNow ? `Now, after entry ${count}` : `Entry ${at} of ${count}`}
        </span>
        {` · ${words}`}
      </p>
    </div>
  )
})

const mostTicks = 400

/** One tick for each entry, if there is enough room. The first entry of a turn has a longer tick. */
const Ticks = memo(function Ticks({ count, turns }: Pick<ScrubberProps, 'count' | 'turns'>) {
  const step = Math.max(1, Math.ceil(count / mostTicks))
  const x = (index: number) => (count <= 1 ? 0 : (index / (count - 1)) * 100)
  return (
    <svg className="absolute inset-x-2 top-0 h-6 w-[calc(100%-1rem)] overflow-visible text-faint" aria-hidden="true">
      {Array.from({ length: Math.ceil(count / step) }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a tick is identified by its position
        <line key={index} x1={`${x(index * step)}%`} x2={`${x(index * step)}%`} y1="19" y2="22" stroke="currentColor" opacity="0.5" />
      ))}
      {turns.map((index) => (
        <line key={`t${index}`} x1={`${x(index)}%`} x2={`${x(index)}%`} y1="16" y2="24" stroke="currentColor" strokeWidth="2" />
      ))}
    </svg>
  )
})
