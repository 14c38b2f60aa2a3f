import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import { groupColors } from '../model/block-groups.ts'
import { formatCount, formatMoney } from '../model/inspect/figures.ts'
import { promptRows, type Segment, sumOf } from '../model/inspect/prompt-segments.ts'
import { BucketsBar } from '../primitives/buckets-bar.tsx'

interface PromptTextProps {
  readonly segments: readonly Segment[]
  readonly lit: number | undefined
  onLight(segment: number | undefined): void
  /** The block to which the list scrolls. */
  readonly wanted: { readonly segment: number } | undefined
}

/** The exact text of a prompt. Only what is near the screen is in the document. */
export function PromptText({ segments, lit, onLight, wanted }: PromptTextProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => promptRows(segments), [segments])
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => {
      const row = rows[index]
      return row?.kind === 'text' ? 20 * row.text.split('\n').length : row?.kind === 'mark' ? 25 : 32
    },
    overscan: 3,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new request to scroll moves the list
  useEffect(() => {
    if (wanted)
      virtual.scrollToIndex(
        rows.findIndex(({ segment }) => segment === wanted.segment),
        { align: 'start' },
      )
  }, [wanted])
  return (
    <div ref={scroller} className="min-w-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="The prompt" data-testid="prompt">
      <div className="relative" style={{ height: virtual.getTotalSize() }} onPointerLeave={() => onLight(undefined)}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index]
          const segment = row && segments[row.segment]
          if (!row || !segment) return null
          return (
            <div
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              className={`absolute inset-x-0 top-0 ${lit === row.segment ? 'bg-tint' : ''}`}
              style={{ transform: `translateY(${item.start}px)` }}
              onPointerEnter={() => onLight(row.segment)}
            >
              {row.kind === 'heading' && <SegmentHeading segment={segment} />}
              {row.kind === 'text' && <pre className="px-4 font-mono text-xs leading-5 break-words whitespace-pre-wrap">{row.text}</pre>}
              {row.kind === 'mark' && <p className="mx-4 mb-2 border-b-2 border-ink text-right text-[11px] text-soft">cache mark</p>}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function SegmentHeading({ segment }: { readonly segment: Segment }) {
  const { key, type, path, tokens, money, soFar, files, hidden } = segment
  const all = sumOf(tokens)
  return (
    <div className="flex flex-wrap items-center gap-x-3 border-t border-line bg-raised px-4 py-1.5 text-xs" data-segment={key}>
      <span className="size-2.5 shrink-0 rounded-[2px]" style={{ background: groupColors[segment.group] }} />
      <h3 className="font-mono font-medium">{key === type ? nameOf(key) : type}</h3>
      {key !== type && <span className="text-soft">{key}</span>}
      {path !== undefined && <span className="min-w-0 truncate font-mono text-soft">{path}</span>}
      {hidden && <span className="text-soft">hidden</span>}
      {files.map((file) => (
        <span key={file} className="text-soft">
          {file}
        </span>
      ))}
      <span className="ml-auto flex items-center gap-3 tabular-nums">
        <span className="w-16">
          <BucketsBar {...tokens} most={all} label={`${tokens.read} read, ${tokens.write} written, ${tokens.uncached} in full`} />
        </span>
        <span data-figure="tokens">{formatCount(all)} tokens</span>
        <span data-figure="money">{formatMoney(money)}</span>
        <span className="text-soft" title="what this block has cost up to this round">
          {formatMoney(soFar.money, soFar.unpriced)} so far
        </span>
      </span>
    </div>
  )
}

const nameOf = (key: string): string => (key === 'system' ? 'System text' : key === 'tail' ? 'Tail: sources and announce' : key)
