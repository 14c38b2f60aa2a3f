import { type Block, blockNumber } from '../../../core/block/index.ts'
import { applyMerge, emptyPool, markUsed, removeSource, type SourcePool } from '../../../core/sources/pool.ts'
import type { SourceRow } from '../../../core/sources/source.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { type Frame, frameOf, timelineFromFrame } from '../../../core/timeline/frame.ts'
import { emptyTimeline, type Timeline } from '../../../core/timeline/timeline.ts'
import type { Entry, Saved } from '../../../ports/store.ts'
import { damagedRow, type RowReader, type StoredRow, type VisibleRow } from './rows.ts'
import { startsFrame } from './validation/validate.ts'

export const changesOf = (entries: readonly Entry[]) => entries.map(({ change }) => change)

/** Each block in these entries by its id, as it was first appended. A later import may repeat a block. */
export function blocksById(entries: readonly Entry[]): ReadonlyMap<string, Block> {
  const blocks = changesOf(entries).flatMap(blocksOfChange)
  return new Map(blocks.toReversed().map((block) => [block.id, block]))
}

/**
 * Whether no earlier entry contains the block. If the entry is an import, `entered` contains the numbers of the blocks that occur in no
 * earlier entry.
 */
export const isFirstVersion = (block: Block, entered: ReadonlySet<number | undefined> | undefined) =>
  entered === undefined || entered.has(blockNumber(block.id))

function blockLookup(conversationId: string, frameSeq: number, entries: readonly Entry[]): (id: string) => Block {
  const blocks = blocksById(entries)
  return (id) => {
    const block = blocks.get(id)
    if (!block) throw damagedRow(conversationId, frameSeq, new Error(`its frame shows block ${id}, which is nowhere in the journal`))
    return block
  }
}

export function parseFrame(conversationId: string, stored: StoredRow): Frame {
  try {
    return JSON.parse(stored.body) as Frame // `putFrame` wrote this text from a Frame
  } catch (error) {
    throw damagedRow(conversationId, stored.seq, error)
  }
}

/**
 * The pool of sources after these changes. Several merges in a row are applied as one, because each applied merge copies the whole pool.
 */
function poolAfter(changes: readonly Change[]): SourcePool {
  let pool = emptyPool
  let rows: SourceRow[] = []
  let nextSid = 1
  const applyMerges = () => {
    pool = applyMerge(pool, { rows, next_sid: nextSid })
    rows = []
    return pool
  }
  for (const change of changes) {
    if (change.type === 'sources.merged') {
      for (const row of change.rows) rows.push(row)
      nextSid = Math.max(nextSid, change.next_sid)
    } else if (change.type === 'sources.used') pool = markUsed(applyMerges(), change.sids)
    else if (change.type === 'source.removed') pool = removeSource(applyMerges(), change.sid)
  }
  return applyMerges()
}

/**
 * Data for an append that contains a compaction or an import, read before the transaction. It is outdated if the `seq` of the last entry of
 * the conversation is no longer `lastSeq`.
 */
export interface FrameContext {
  readonly lastSeq: number
  readonly frame: PlacedFrame
  /** The blocks that an import repeats, by id, as they were first appended. */
  readonly knownBlocks: ReadonlyMap<string, Block>
}

/** A frame, and the index of the change in the append after which the frame was taken. */
export interface PlacedFrame {
  readonly index: number
  readonly value: Frame
}

/** The frame after the last compaction or import in `changes`. `timeline` is the timeline before `changes`. */
export function frameAfter(timeline: Timeline, changes: readonly Change[]): PlacedFrame {
  const index = changes.findLastIndex(startsFrame)
  return { index, value: frameOf(changes.slice(0, index + 1).reduce(applyChange, timeline)) }
}

/** The rows from which the visible timeline is made: the latest frame, the rows that it needs, and all rows after it. */
export interface VisibleRows {
  readonly lastSeq: number
  readonly frame: { readonly seq: number; readonly value: Frame } | undefined
  readonly sources: readonly StoredRow[]
  readonly framed: readonly StoredRow[]
  readonly later: readonly VisibleRow[]
}

/** Makes the visible timeline of these rows. */
export async function timelineOfRows(
  conversationId: string,
  { lastSeq, frame, sources, framed, later }: VisibleRows,
  { readRows, readVisibleRows }: RowReader,
): Promise<Saved> {
  const laterEntries = await readVisibleRows(conversationId, later)
  const start = frame
    ? timelineFromFrame(
        frame.value,
        blockLookup(conversationId, frame.seq, await readRows(conversationId, framed)),
        poolAfter(changesOf(await readRows(conversationId, sources))),
      )
    : emptyTimeline()
  return { timeline: changesOf(laterEntries).reduce(applyChange, start), lastSeq }
}
