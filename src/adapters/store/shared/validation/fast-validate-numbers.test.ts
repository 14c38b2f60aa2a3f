import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Block, blockId } from '../../../../core/block/index.ts'
import { Failure } from '../../../../core/failure.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import { ascendingNumbers, newBlockNumbersFast } from './fast-validate.ts'
import { checkNumbersUnused, newBlockNumbers } from './validate.ts'

const block = (number: number) => ({ id: blockId(number), type: 'user.prompt', author: 'user', turn_id: 't', ts: '' }) as Block
const change = (blocks: readonly Block[]): Change => ({ type: 'blocks.appended', blocks })

const ascending = fc.uniqueArray(fc.nat(30), { maxLength: 6 }).map((numbers) => numbers.sort((a, b) => a - b))
const appends = fc.array(fc.oneof(ascending, fc.array(fc.nat(30), { maxLength: 4 })), { maxLength: 3 })

it('gives the numbers of the general version, and rejects the same appends', () => {
  const counts = { fast: 0, rejected: 0 }
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(10), { maxLength: 4 }), appends, (used, lists) => {
      const nextBlock = Math.max(-1, ...used) + 1
      const changes = lists.map((numbers) => change(numbers.map(block)))
      const known = (id: string) => used.map(block).find((each) => each.id === id)
      const outcome = (numbersOf: typeof newBlockNumbers) => {
        try {
          const numbers = numbersOf(changes, known)
          checkNumbersUnused(numbers, nextBlock)
          return numbers
        } catch (error) {
          return error instanceof Failure ? error.code : error
        }
      }
      const expected = outcome(newBlockNumbers)
      expect(outcome(newBlockNumbersFast)).toEqual(expected)
      if (ascendingNumbers(changes)) counts.fast += 1
      if (expected === 'change.invalid') counts.rejected += 1
    }),
    { numRuns: 1_000 },
  )
  expect(counts.fast).toBeGreaterThan(100)
  expect(counts.rejected).toBeGreaterThan(100)
})

it('leaves imports to the general version', () => {
  // `ascendingNumbers` reads no other fields
  const imported = { type: 'timeline.imported', timeline: { blocks: [block(0)] } } as unknown as Change
  expect(ascendingNumbers([imported])).toBe(undefined)
})
