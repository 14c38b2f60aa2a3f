import type { Block, Meta } from '../block/envelope.ts'
import type { SourcePool } from '../sources/merge.ts'
import { spineOf } from './spine.ts'
import { blocksOf, type Timeline } from './timeline.ts'

type HiddenMeta = Pick<Meta, 'hidden' | 'replacement_text' | 'hidden_reason' | 'hidden_scope'>

/**
 * A timeline without what the journal already holds: the order of its blocks by id, what is hidden, and the small facts.
 * A store keeps one beside each compaction, so that loading begins there and not at the first entry.
 */
export interface Frame extends Omit<Timeline, 'spine' | 'size' | 'sources'> {
  readonly order: readonly string[]
  readonly hidden: { readonly [id: string]: HiddenMeta }
}

export function frameOf(timeline: Timeline): Frame {
  const { spine: _spine, size: _size, sources: _sources, ...facts } = timeline
  const blocks = blocksOf(timeline)
  const hidden = blocks.flatMap(({ id, meta }) => (meta?.hidden === true ? [[id, hiddenMeta(meta)] as const] : []))
  return { ...facts, order: blocks.map(({ id }) => id), hidden: Object.fromEntries(hidden) }
}

/** `find` gives a block as it was entered, before anything was hidden. */
export function fromFrame(frame: Frame, find: (id: string) => Block, sources: SourcePool): Timeline {
  const { order, hidden, ...facts } = frame
  const blocks = order.map((id) => withHidden(find(id), hidden[id]))
  return { ...facts, sources, spine: spineOf(blocks), size: blocks.length }
}

function withHidden(entered: Block, hidden: HiddenMeta | undefined): Block {
  const { hidden: _h, replacement_text: _t, hidden_reason: _r, hidden_scope: _s, ...rest } = entered.meta ?? {}
  if (hidden) return { ...entered, meta: { ...rest, ...hidden } }
  if (entered.meta?.hidden !== true) return entered
  const { meta: _meta, ...bare } = entered
  return Object.keys(rest).length === 0 ? bare : { ...bare, meta: rest }
}

function hiddenMeta(meta: Meta): HiddenMeta {
  const { hidden, hidden_reason, hidden_scope, replacement_text } = meta
  return {
    ...(hidden !== undefined && { hidden }),
    ...(hidden_reason !== undefined && { hidden_reason }),
    ...(hidden_scope !== undefined && { hidden_scope }),
    ...(replacement_text !== undefined && { replacement_text }),
  }
}
