import { memo } from 'react'
import { type BlockGroup, groupColors } from '../model/block-groups.ts'

interface MinimapProps {
  readonly bands: readonly BlockGroup[]
  /** The part of the list that is on the screen begins at `from` and ends at `to`. The whole list is 0 to 1. */
  readonly from: number
  readonly to: number
  onJump(share: number): void
}

/** The whole timeline in one column. A click scrolls to that place. */
export function Minimap({ bands, from, to, onJump }: MinimapProps) {
  return (
    <div
      className="relative hidden w-4 shrink-0 cursor-pointer border-l border-line md:block"
      aria-hidden="true"
      data-testid="minimap"
      onClick={(event) => {
        const { top, height } = event.currentTarget.getBoundingClientRect()
        onJump((event.clientY - top) / height)
      }}
    >
      <Bands bands={bands} />
      <div
        className="pointer-events-none absolute inset-x-0 border-y-2 border-ink bg-ink/10"
        style={{ top: `${from * 100}%`, height: `max(4px, ${(to - from) * 100}%)` }}
      />
    </div>
  )
}

const Bands = memo(function Bands({ bands }: Pick<MinimapProps, 'bands'>) {
  return (
    <svg
      className="absolute inset-0 size-full"
      viewBox={`0 0 1 ${Math.max(1, bands.length)}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {bands.map((group, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a band is identified by its position
        <rect key={index} x="0" y={index} width="1" height="1.02" style={{ fill: groupColors[group] }} />
      ))}
    </svg>
  )
})
