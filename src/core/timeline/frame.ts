import { type Block, dropEmptyMeta, isEmptyMeta, isHidden, type Meta } from '../block/block.ts'
import type { SourcePool } from '../sources/pool.ts'
import { blocksOf, createBuffer, type Timeline } from './timeline.ts'

type HiddenMeta = Pick<Meta, 'hidden' | 'replacement_text' | 'hidden_reason' | 'hidden_scope'>

/**
 * A timeline without what the journal already holds: the order of its blocks by id, what is hidden, and the small facts.
 * A store keeps one beside each compaction, so that loading begins there and not at the first entry.
 */
export interface Frame extends Omit<Timeline, 'buffer' | 'size' | 'sources'> {
  readonly order: readonly string[]
  readonly hidden: { readonly [id: string]: HiddenMeta }
}

export function frameOf(timeline: Timeline): Frame {
  const { buffer: _spine, size: _size, sources: _sources, ...facts } = timeline
  const blocks = blocksOf(timeline)
  const hidden = blocks.flatMap(({ id, meta }) => (meta?.hidden === true ? [[id, hiddenMeta(meta)] as const] : []))
  return { ...facts, order: blocks.map(({ id }) => id), hidden: Object.fromEntries(hidden) }
}

/** `find` gives a block as it was entered, before anything was hidden. */
export function timelineFromFrame(frame: Frame, find: (id: string) => Block, sources: SourcePool): Timeline {
  const { order, hidden, ...facts } = frame
  const blocks = order.map((id) => withHidden(find(id), hidden[id]))
  return { ...facts, sources, buffer: createBuffer(blocks), size: blocks.length }
}

function withHidden(entered: Block, hidden: HiddenMeta | undefined): Block {
  if (hidden) return { ...entered, meta: { ...stripHidden(entered).meta, ...hidden } }
  return isHidden(entered) ? stripHidden(entered) : dropEmptyMeta(entered)
}

/** A block without any word on hiding, and without a meta that says nothing: what it is after `blocks.revealed`. */
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
