import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance } from './edit-distance.ts'

/** Computes the distance with a table, by the algorithm of the textbooks. The test compares `editDistance` with it. */
function distanceByTable(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(a[i - 1] === b[j - 1] ? (row[j - 1] as number) : 1 + Math.min(row[j] as number, next[j - 1] as number))
    row = next
  }
  return row[b.length] as number
}

describe('editDistance', () => {
  it('agrees with the table, and is undefined beyond the limit', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 })
    fc.assert(
      fc.property(word, word, fc.nat({ max: 24 }), (a, b, limit) => {
        const distance = distanceByTable(a, b)
        expect(editDistance(a, b, limit)).toBe(distance <= limit ? distance : undefined)
      }),
      { numRuns: 2000 },
    )
  })
})
