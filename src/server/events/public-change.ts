import type { Block, Meta } from '../../core/block/index.ts'
import type { EntryEvent } from '../../core/event.ts'
import type { Bundle } from '../../core/timeline/bundle.ts'
import { blocksOfChange, type Change } from '../../core/timeline/change.ts'

/**
 * Keys of `meta` that say where the bytes of a block are stored. Clients do not need them, because they request files by their resource
 * names.
 */
const privateMetaKeys = new Set(['key', 'hosted_uri', 'keeps'])

/**
 * A change without storage addresses in the `meta` of its blocks. The raw response of the model and the outcome of a call are removed too,
 * because blocks contain the same content.
 */
export function publicChange(change: Change): Change {
  if (change.type === 'response.received') return { ...change, raw: '' }
  if (change.type === 'call.finished') {
    const { keeps: _keeps, ...rest } = change
    return { ...rest, outcome: { ok: change.outcome.ok } }
  }
  if (blocksOfChange(change).length === 0) return change
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return { ...change, blocks: change.blocks.map(publicBlock) }
    case 'timeline.imported':
      return { ...change, timeline: { ...change.timeline, blocks: change.timeline.blocks.map(publicBlock) } }
    default:
      return change
  }
}

/** An entry without storage addresses and without the raw response of the model. */
export const publicEntry = ({ seq, change }: EntryEvent): EntryEvent => ({ type: 'entry', seq, change: publicChange(change) })

/** A block without storage addresses in its `meta`. */
export function publicBlock(block: Block): Block {
  const { meta } = block
  if (meta === undefined || !Object.keys(meta).some((key) => privateMetaKeys.has(key))) return block
  const publicMeta: Meta = Object.fromEntries(Object.entries(meta).filter(([key]) => !privateMetaKeys.has(key)))
  return { ...block, meta: publicMeta }
}

/** A bundle without storage addresses in the `meta` of its blocks. */
export function publicBundle(bundle: Bundle): Bundle {
  return {
    ...bundle,
    timeline: { ...bundle.timeline, blocks: bundle.timeline.blocks.map(publicBlock) },
    turn_logs: bundle.turn_logs.map((log) => ({ ...log, blocks: log.blocks.map(publicBlock) })),
    archive: bundle.archive.map(publicBlock),
  }
}
