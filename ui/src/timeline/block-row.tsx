import { groupColors } from '../model/block-groups.ts'
import { formatShort, formatSize, formatTime } from '../model/inspect/figures.ts'
import type { BlockState, TimelineRow } from '../model/inspect/timeline-rows.ts'

interface BlockRowProps {
  readonly row: TimelineRow
  readonly state: BlockState
  readonly selected: boolean
  /** Whether a fork that is being prepared would leave the block out. */
  readonly leftOut: boolean
  onSelect(): void
  onPath(path: string): void
}

const stateWords: { readonly [S in BlockState]: string } = {
  shown: '',
  hidden: 'hidden',
  pruned: 'pruned',
  compacted: 'compacted',
  later: 'later',
}

/** One block of the timeline. */
export function BlockRow({ row, state, selected, leftOut, onSelect, onPath }: BlockRowProps) {
  const { block, group, tokens, size } = row
  // the texts get a faded colour and not a lower opacity, because they must stay readable. Only the bar at the left gets a lower opacity
  const faded = state === 'later' || leftOut ? 'bg-raised italic [&_*]:text-faint [&>span]:opacity-40' : ''
  return (
    <div
      className={`group/row @container relative flex h-14 items-stretch border-b border-line text-sm md:h-9 ${selected ? 'bg-tint' : 'hover:bg-hover'} ${faded}`}
      data-block={block.id}
      data-state={state}
    >
      <span className="w-1 shrink-0" style={{ background: groupColors[group] }} />
      <button
        type="button"
        onClick={onSelect}
        aria-pressed={selected}
        aria-label={`${block.type} ${block.id}`}
        className="absolute inset-0 left-1 outline-offset-[-2px]"
      />
      <div className="pointer-events-none flex min-w-0 flex-1 flex-col justify-center px-3 md:flex-row md:items-center md:justify-start md:gap-3">
        <span className="flex shrink-0 items-baseline gap-2 md:w-52">
          <span className={`truncate font-mono text-xs ${state === 'shown' ? '' : 'text-soft'}`}>{block.type}</span>
          {stateWords[state] !== '' && <State words={stateWords[state]} />}
        </span>
        {block.path !== undefined && (
          <button
            type="button"
            onClick={() => onPath(block.path ?? '')}
            title={block.path}
            className="pointer-events-auto relative hidden w-44 shrink-0 truncate rounded px-1 text-left font-mono text-xs text-accent hover:underline @3xl:block"
          >
            {shortPath(block.path, block.turn_id)}
          </button>
        )}
        <span className={`min-w-0 truncate text-soft md:flex-1 ${state === 'compacted' ? 'line-through decoration-faint' : ''}`}>
          {previewOf(block.text)}
        </span>
      </div>
      <div className="pointer-events-none flex shrink-0 items-center gap-3 pr-3 text-right text-xs tabular-nums text-soft">
        <span className="hidden w-16 truncate text-left @3xl:block">{block.author}</span>
        <span className="hidden w-16 @2xl:block">{formatSize(size)}</span>
        <span className="w-10" title="tokens, estimated">
          {formatShort(tokens)}
        </span>
        <span className="w-14">{formatTime(block.ts)}</span>
      </div>
    </div>
  )
}

/** The headings of the columns. Narrow windows show no headings, because a block takes two lines there. */
export const BlockHeadings = () => (
  <div
    className="@container sticky top-0 z-10 hidden h-7 items-center border-b border-line bg-page pl-1 text-xs text-soft md:flex"
    data-testid="headings"
  >
    <div className="flex min-w-0 flex-1 gap-3 px-3">
      <span className="w-52 shrink-0">Type</span>
      <span className="hidden w-44 shrink-0 px-1 @3xl:block">Path</span>
      <span className="flex-1">Content</span>
    </div>
    <div className="flex shrink-0 gap-3 pr-3 text-right">
      <span className="hidden w-16 text-left @3xl:block">Author</span>
      <span className="hidden w-16 @2xl:block">Size</span>
      <span className="w-10">Tokens</span>
      <span className="w-14">Time</span>
    </div>
  </div>
)

const State = ({ words }: { readonly words: string }) => (
  <span className="rounded-sm border border-line bg-page px-1 text-[11px] leading-4 text-soft">{words}</span>
)

/** The path without the id of the block's own turn, which is the same in most paths. */
const shortPath = (path: string, turnId: string): string => path.replace(`${turnId}.`, '')

const previewOf = (text = ''): string => text.slice(0, 300).replaceAll('\n', ' ')
