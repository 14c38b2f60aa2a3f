import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance } from './edit-distance.ts'
import { isSameAnswer } from './same-answer.ts'

/** The textbook dynamic-programming table: slow, and easy to check. */
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

describe('isEquivalent', () => {
  it.each([
    ['Done.', '  done.\n', true],
    ['All files are written.\n\nSee report.md.', 'all files are written. See report.md', true],
    ['The answer is 42.', 'The answer is 43.', true],
    ['Yes', 'No', false],
    ['The report is ready.', 'The report is ready. I also added the table you asked for in your followup.', false],
    ['', '', true],
    ['x', '', false],
  ])('%j and %j: %s', (a, b, expected) => {
    expect([isSameAnswer(a, b), isSameAnswer(b, a)]).toEqual([expected, expected])
  })

  it('requires nine tenths of the text and of the length to agree', () => {
    const text = 'abcdefghij'.repeat(10)
    const changed = (count: number) => 'X'.repeat(count) + text.slice(count)
    expect([isSameAnswer(text, changed(10)), isSameAnswer(text, changed(11))]).toEqual([true, false])
    expect([isSameAnswer(text, text.slice(10)), isSameAnswer(text, text.slice(11))]).toEqual([true, false])
  })

  it('compares long texts by words, in any script', () => {
    const words = Array.from({ length: 2000 }, (_, i) => `word${i}`)
    const edited = (every: number) => words.map((word, i) => (i % every === 0 ? `other${i}` : word)).join(' ')
    expect(isSameAnswer(words.join(' '), edited(50))).toBe(true)
    expect(isSameAnswer(words.join(' '), edited(5))).toBe(false)
    const chinese = Array.from({ length: 3000 }, (_, i) => String.fromCharCode(0x4e00 + (i % 700))).join('')
    expect(isSameAnswer(chinese, `${chinese.slice(0, 100)}不${chinese.slice(101)}`)).toBe(true)
  })

  it('is fast on very long texts', () => {
    const long = (seed: string) => seed.repeat(300_000 / seed.length)
    expect(isSameAnswer(long('ab '), long('ba '))).toBe(false)
    expect(isSameAnswer(long('a'), `${long('a')}b`)).toBe(false) // each text is one word, and the words differ
  })
})
