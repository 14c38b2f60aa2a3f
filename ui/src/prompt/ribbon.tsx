import { useMemo } from 'react'
import { groupColors } from '../model/block-groups.ts'
import { type Segment, sumOf } from '../model/inspect/prompt-segments.ts'
import { bucketColors } from '../primitives/buckets-bar.tsx'

interface RibbonProps {
  readonly segments: readonly Segment[]
  /** The block under the pointer, here or in the text. */
  readonly lit: number | undefined
  onLight(segment: number | undefined): void
  onJump(segment: number): void
}

/**
 * Draws the whole prompt as a bar. Each block is a band, whose height is proportional to its number of tokens. Each cache mark is a line.
 * The edge shows how each part was billed: it is solid for tokens that were read from the cache, hatched for tokens that were written to
 * the cache, and empty for tokens that were paid in full.
 */
export function Ribbon({ segments, lit, onLight, onJump }: RibbonProps) {
  const bands = useMemo(() => bandsOf(segments), [segments])
  const most = bands.at(-1)?.end ?? 1
  return (
    <div className="w-12 shrink-0 border-r border-line p-1.5 md:w-20" data-testid="ribbon" aria-hidden="true">
      <svg className="size-full" viewBox={`0 0 100 ${most}`} preserveAspectRatio="none" onPointerLeave={() => onLight(undefined)}>
        <title>The prompt, to scale</title>
        <defs>
          <pattern id="written" width="4" height={most / 120} patternUnits="userSpaceOnUse">
            <rect width="4" height={most / 240} style={{ fill: bucketColors.write }} />
          </pattern>
        </defs>
        {bands.map(({ start, end, readEnd, writeEnd, segment }, index) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the list beside it can be used with the keyboard
          <g
            key={segment.key}
            data-key={segment.key}
            onPointerEnter={() => onLight(index)}
            onClick={() => onJump(index)}
            className="cursor-pointer"
          >
            <rect
              x="18"
              y={start}
              width="82"
              height={Math.max(end - start, most / 900)}
              style={{ fill: groupColors[segment.group] }}
              opacity={lit === undefined || lit === index ? 1 : 0.45}
            />
            <rect x="0" y={start} width="12" height={readEnd - start} style={{ fill: bucketColors.read }} />
            <rect x="0" y={readEnd} width="12" height={writeEnd - readEnd} fill="url(#written)" />
          </g>
        ))}
        {bands.map(({ end, segment }) =>
          segment.marked ? (
            <line
              key={segment.key}
              x1="0"
              x2="100"
              y1={end}
              y2={end}
              stroke="currentColor"
              strokeWidth="2"
              vectorEffect="non-scaling-stroke"
              data-mark={segment.key}
            />
          ) : null,
        )}
      </svg>
    </div>
  )
}

interface Band {
  readonly segment: Segment
  readonly start: number
  readonly readEnd: number
  readonly writeEnd: number
  readonly end: number
}

/** The bands one below the other. If the provider reported no tokens, they are estimated from the lengths of the texts. */
function bandsOf(segments: readonly Segment[]): readonly Band[] {
  const billed = segments.some(({ tokens }) => sumOf(tokens) > 0)
  let start = 0
  return segments.map((segment) => {
    const { read, write, uncached } = billed ? segment.tokens : { read: 0, write: 0, uncached: segment.text.length / 4 }
    const band = { segment, start, readEnd: start + read, writeEnd: start + read + write, end: start + read + write + uncached }
    start = band.end
    return band
  })
}
