import { type Block, dropEmptyMeta, isEmptyMeta, isHidden, type Meta } from '../block/block.ts'
import type { SourcePool } from '../sources/pool.ts'
import { createBuffer } from './block-buffer.ts'
import { blocksOf, emptyTimeline, type Timeline } from './timeline.ts'

type HiddenMeta = Pick<Meta, 'hidden' | 'replacement_text' | 'hidden_reason' | 'hidden_scope'>

/**
 * A snapshot of a timeline. It has no blocks and sources, because the journal has them. It contains the ids of the visible blocks in order,
 * and which of them are hidden. A store saves a frame at each compaction and each import, so that loading need not start at the first
 * entry.
 */
export interface Frame extends Omit<Timeline, 'buffer' | 'size' | 'sources'> {
  readonly order: readonly string[]
  readonly hidden: { readonly [id: string]: HiddenMeta }
}

export function frameOf(timeline: Timeline): Frame {
  const { buffer: _buffer, size: _size, sources: _sources, ...facts } = timeline
  const blocks = blocksOf(timeline)
  const hidden = blocks.flatMap(({ id, meta }) => (meta?.hidden === true ? [[id, hiddenMeta(meta)] as const] : []))
  return { ...facts, order: blocks.map(({ id }) => id), hidden: Object.fromEntries(hidden) }
}

/** Restores the timeline of a frame. `find` returns a block as it was appended, without the fields about hiding. */
export function timelineFromFrame(frame: Frame, find: (id: string) => Block, sources: SourcePool): Timeline {
  const { order, hidden, ...facts } = frame
  const blocks = order.map((id) => withHidden(find(id), hidden[id]))
  return { ...emptyTimeline(), ...facts, sources, buffer: createBuffer(blocks), size: blocks.length } // JSON has no undefined fields
}

function withHidden(block: Block, hidden: HiddenMeta | undefined): Block {
  if (hidden) return { ...block, meta: { ...stripHidden(block).meta, ...hidden } }
  return isHidden(block) ? stripHidden(block) : dropEmptyMeta(block)
}

/** The block without the `meta` fields about hiding, as it is after `blocks.revealed`. An empty `meta` is removed too. */
export function stripHidden(block: Block): Block {
  const { meta } = block
  if (meta === undefined || (!hasHiddenFields(meta) && !isEmptyMeta(meta))) return block
  const { hidden: _hidden, replacement_text: _text, hidden_reason: _reason, hidden_scope: _scope, ...rest } = meta
  if (!isEmptyMeta(rest)) return { ...block, meta: rest }
  const { meta: _meta, ...others } = block
  return others
}

const hasHiddenFields = (meta: Meta) => 'hidden' in meta || 'replacement_text' in meta || 'hidden_reason' in meta || 'hidden_scope' in meta

function hiddenMeta(meta: Meta): HiddenMeta {
  const { hidden, hidden_reason, hidden_scope, replacement_text } = meta
  return {
    ...(hidden !== undefined && { hidden }),
    ...(hidden_reason !== undefined && { hidden_reason }),
    ...(hidden_scope !== undefined && { hidden_scope }),
    ...(replacement_text !== undefined && { replacement_text }),
  }
}
