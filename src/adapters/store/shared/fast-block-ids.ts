import { type Block, blockNumber } from '../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { type NewBlockNumbers, newBlockNumbers } from './validate.ts'

/**
 * Like `newBlockNumbers`, but needs no look-up when the numbers ascend and nothing is imported. Then all blocks are new if
 * `checkNumbersUnused` accepts the lowest number. Saves about 2 µs of a 20 µs round in memory.
 */
export function newBlockNumbersFast(changes: readonly Change[], known: (id: string) => Block | undefined): NewBlockNumbers {
  return ascendingNumbers(changes) ?? newBlockNumbers(changes, known)
}

/** The numbers of blocks that are appended in ascending order. Undefined when they do not ascend, or a change imports blocks. */
export function ascendingNumbers(changes: readonly Change[]): NewBlockNumbers | undefined {
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
