import { describe, expect, it } from 'vitest'
import { isSameAnswer } from './same-answer.ts'

describe('isSameAnswer', () => {
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
    expect(isSameAnswer(long('a'), `${long('a')}b`)).toBe(false) // each text is one word, so they share no word
  })
})
