import type { Block } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import { parseJson } from '../json.ts'
import { sourcesPath } from '../path/build.ts'
import { canonicalPath } from '../path/logical.ts'
import type { Slice } from '../render/slice.ts'
import { rowSids } from '../render/source-rows.ts'
import { blockAt, type Timeline } from '../timeline/timeline.ts'

/** One spelling for what an agent names and what a block carries: either may use an older form. */
export const canonicalAddress = (path: string): string => canonicalPath(path.trim()) ?? path.trim()

const ownAddress = oncePerBlock((block: Block) => (block.path === undefined ? undefined : canonicalAddress(block.path)))

/** Rows of a search lie at their call's path, but the model is shown the selector of their sids: it may use either. */
const selectorOf = oncePerBlock((block: Block) => {
  const sids = block.type === 'react.tool.result' ? rowSids(parseJson(block.text)) : []
  return sids.length === 0 ? undefined : canonicalAddress(sourcesPath(sids))
})

const isAt = (block: Block, address: string): boolean =>
  ownAddress(block) === address || (address.startsWith('so:') && selectorOf(block) === address)

/** Positions in the slice of what is shown for a path, oldest first: its blocks, or the line that stands for hidden ones. */
export function positionsAt({ shown }: Slice, address: string): readonly number[] {
  return shown.flatMap(({ block }, position) => (isAt(block, address) ? [position] : []))
}

/** Every block at a path, shown or not, with its position in the timeline. */
export function blocksAt(timeline: Timeline, address: string): readonly { readonly block: Block; readonly position: number }[] {
  const group: { block: Block; position: number }[] = []
  for (let position = 0; position < timeline.size; position++) {
    const block = blockAt(timeline, position)
    if (block && isAt(block, address)) group.push({ block, position })
  }
  return group
}
