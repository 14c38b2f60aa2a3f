import { isDeepStrictEqual } from 'node:util'
import { type Block, blockId, blockNumber, isHidden } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { stripHidden } from '../../../core/timeline/frame.ts'

/** The numbers that are given with an append: the lowest, if any is, and one past the highest. */
export interface NewBlockNumbers {
  readonly lowest: number | undefined
  readonly next: number
}

/**
 * The blocks that enter with these changes, by their numbers. Each enters for the first time; only an import may repeat what is known,
 * and then it must repeat it truly. `known` gives a block as it was entered before these changes. Numbers that ascend are each given
 * once; that none of them was given before is for `checkNumbers` to say.
 */
export function newBlockNumbers(changes: readonly Change[], known: (id: string) => Block | undefined): NewBlockNumbers {
  const births = ascendingNumbers(changes)
  if (births) return births
  const fresh = new Map<string, Block>()
  for (const change of changes) {
    for (const block of newBlocksIn(change, (id) => known(id) ?? fresh.get(id))) fresh.set(block.id, block)
  }
  const numbers = [...fresh.keys()].map((id) => blockNumber(id) ?? 0).sort((a, b) => a - b)
  return { lowest: numbers[0], next: (numbers.at(-1) ?? -1) + 1 }
}

/** The ordinary case: nothing is imported, and the blocks are numbered one after the other. */
function ascendingNumbers(changes: readonly Change[]): NewBlockNumbers | undefined {
  let lowest: number | undefined
  let last = -1
  for (const change of changes) {
    if (change.type === 'timeline.imported') return undefined
    for (const { id } of blocksOfChange(change)) {
      const number = blockNumber(id)
      if (number === undefined || number <= last) return undefined
      lowest ??= number
      last = number
    }
  }
  return { lowest, next: last + 1 }
}

function newBlocksIn(change: Change, known: (id: string) => Block | undefined): readonly Block[] {
  const births = new Map<string, Block>()
  for (const block of blocksOfChange(change)) {
    const entered = known(block.id)
    if (births.has(block.id) || (entered && change.type !== 'timeline.imported')) throw numberTaken(block.id)
    if (!entered) births.set(block.id, block)
    else if (!isSameBlock(block, entered)) throw contentDiffers(block.id)
  }
  return [...births.values()]
}

/** The changes after which everything earlier is history. */
export const startsFrame = ({ type }: Change): boolean => type === 'range.compacted' || type === 'timeline.imported'

/** Ids that an import brings along: only these need to be looked up before it is logged. */
export const importedIds = (changes: readonly Change[]): readonly string[] =>
  changes.flatMap((change) => (change.type === 'timeline.imported' ? blocksOfChange(change).map(({ id }) => id) : []))

/** Numbers are given upwards, whatever became of the blocks: below `floor` all are taken. */
export function checkNumbersUnused({ lowest }: NewBlockNumbers, floor: number): void {
  if (lowest !== undefined && lowest < floor) throw numberTaken(blockId(lowest))
}

const numberTaken = (id: string) =>
  new Failure('change.invalid', `the number of block ${id} was already given in this conversation: number new blocks with \`enter\``, {
    details: { id },
  })

const contentDiffers = (id: string) =>
  new Failure('change.invalid', `the imported timeline shows block ${id} with another content than the history`, { details: { id } })

/** The same block, whatever was hidden or revealed in between. */
function isSameBlock(shown: Block, entered: Block): boolean {
  if (isHidden(shown)) return isDeepStrictEqual(stripHidden(shown), stripHidden(entered))
  return isDeepStrictEqual(shown, entered) || isDeepStrictEqual(shown, stripHidden(entered))
}
