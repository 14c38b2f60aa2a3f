import { isDeepStrictEqual } from 'node:util'
import { type Block, blockId, blockNumber, isHidden } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { stripHidden } from '../../../core/timeline/frame.ts'

/** The block numbers that an append uses. `lowest` is undefined without blocks; `next` is one more than the highest. */
export interface NewBlockNumbers {
  readonly lowest: number | undefined
  readonly next: number
}

/**
 * The numbers of the new blocks in these changes. Throws `change.invalid` when the conversation or an earlier change already has a block
 * with the same id. Only an import may repeat a block, and only with the same content. `known` finds the first version of a block that the
 * conversation already has. Callers pass the result to `checkNumbersUnused`.
 */
export function newBlockNumbers(changes: readonly Change[], known: (id: string) => Block | undefined): NewBlockNumbers {
  const entered = new Map<string, Block>()
  for (const change of changes) {
    for (const block of newBlocksIn(change, (id) => known(id) ?? entered.get(id))) entered.set(block.id, block)
  }
  const numbers = [...entered.keys()].map((id) => blockNumber(id) ?? 0).sort((a, b) => a - b)
  return { lowest: numbers[0], next: (numbers.at(-1) ?? -1) + 1 }
}

function newBlocksIn(change: Change, known: (id: string) => Block | undefined): readonly Block[] {
  const added = new Map<string, Block>()
  for (const block of blocksOfChange(change)) {
    const first = known(block.id)
    if (added.has(block.id) || (first && change.type !== 'timeline.imported')) throw numberTaken(block.id)
    if (!first) added.set(block.id, block)
    else if (!isSameBlock(block, first)) throw contentDiffers(block.id)
  }
  return [...added.values()]
}

/** Whether two versions of a block have the same content. One of them may be hidden. */
function isSameBlock(shown: Block, first: Block): boolean {
  if (isHidden(shown)) return isDeepStrictEqual(stripHidden(shown), stripHidden(first))
  return isDeepStrictEqual(shown, first) || isDeepStrictEqual(shown, stripHidden(first))
}

/** Throws `change.invalid` when a number is below `nextBlock`. Numbers ascend and are never reused, also after a block was removed. */
export function checkNumbersUnused({ lowest }: NewBlockNumbers, nextBlock: number): void {
  if (lowest !== undefined && lowest < nextBlock) throw numberTaken(blockId(lowest))
}

/** Whether a change is a compaction or an import. A store saves a frame (core/timeline/frame.ts) there. Loading starts at the latest. */
export const startsFrame = ({ type }: Change): boolean => type === 'range.compacted' || type === 'timeline.imported'

/** The ids of imported blocks. Only these may already exist, so that a store must look them up before it writes the changes. */
export const importedIds = (changes: readonly Change[]): readonly string[] =>
  changes.flatMap((change) => (change.type === 'timeline.imported' ? blocksOfChange(change).map(({ id }) => id) : []))

const numberTaken = (id: string) =>
  new Failure('change.invalid', `the number of block ${id} was already given in this conversation: number new blocks with \`assignIds\``, {
    details: { id },
  })

const contentDiffers = (id: string) =>
  new Failure('change.invalid', `the imported timeline shows block ${id} with another content than the history`, { details: { id } })
