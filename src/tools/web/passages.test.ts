import fc from 'fast-check'
import { expect, it } from 'vitest'
import { selectPassages } from './passages.ts'

const filler = (letter: string, length: number) => letter.repeat(length)
const text = `${filler('a', 3_000)}BEGIN${filler('b', 500)}FINISH${filler('c', 3_000)}`

it('pads a passage by 600 characters on each side', () => {
  expect(selectPassages(text, [{ s: 'BEGIN', e: 'FINISH' }])).toBe(`${filler('a', 600)}BEGIN${filler('b', 500)}FINISH${filler('c', 600)}`)
})

it('an empty end means the end of the text', () => {
  expect(selectPassages(text, [{ s: 'FINISH', e: '' }])).toBe(`${filler('a', 95)}BEGIN${filler('b', 500)}FINISH${filler('c', 3_000)}`)
})

it.each([
  ['words that are not there', { s: 'NOWHERE', e: 'FINISH' }],
  ['the end before the start', { s: 'FINISH', e: 'BEGIN' }],
  ['words that are too short', { s: 'BE', e: 'FINISH' }],
  ['words that are too long', { s: filler('a', 151), e: 'FINISH' }],
])('%s give no passage', (_, span) => expect(selectPassages(text, [span])).toBeUndefined())

it('a passage of less than 200 characters is ignored, and so is a short passage at the very start', () => {
  expect(
    selectPassages(`${filler('a', 900)}BEGIN${filler('b', 100)}FINISH${filler('c', 9_000)}`, [{ s: 'BEGIN', e: 'FINISH' }]),
  ).toBeUndefined()
  expect(selectPassages(`BEGIN${filler('b', 250)}FINISH${filler('c', 9_000)}`, [{ s: 'BEGIN', e: 'FINISH' }])).toBeUndefined()
})

it('passages that are close to each other become one, and a mark separates other passages', () => {
  const two = (gap: number) =>
    `${filler('x', 2_000)}ONE${filler('a', 300)}ENO${filler('-', gap)}TWO${filler('b', 300)}OWT${filler('y', 2_000)}`
  const spans = [
    { s: 'TWO', e: 'OWT' },
    { s: 'ONE', e: 'ENO' },
  ]
  expect(selectPassages(two(1_599), spans)).not.toContain('[…]')
  expect(selectPassages(two(1_601), spans)?.split('\n\n[…]\n\n')).toHaveLength(2)
})

it('passages that are almost the whole text give the whole text, and the length of all passages is limited', () => {
  expect(selectPassages(text, [{ s: 'aaaa', e: 'ccc' }])).toHaveLength(3_000 + 5 + 500 + 6 + 3 + 600)
  expect(selectPassages(text, [{ s: 'aaa', e: '' }])).toBe(text)
  expect(selectPassages(`START${filler('a', 50_000)}STOP${filler('b', 9_000)}`, [{ s: 'START', e: 'STOP' }])).toHaveLength(30_000)
})

it('every passage is from the text', () => {
  const numRuns = 300
  let selected = 0
  fc.assert(
    fc.property(
      fc.string({ minLength: 3_000, maxLength: 4_000 }),
      fc.nat(1_000),
      fc.integer({ min: 1_200, max: 2_900 }),
      (content, from, to) => {
        const passages = selectPassages(content, [{ s: content.slice(from, from + 10), e: content.slice(to, to + 10) }])
        if (passages === undefined) return
        selected++
        for (const passage of passages.split('\n\n[…]\n\n')) expect(content).toContain(passage)
      },
    ),
    { numRuns },
  )
  expect(selected).toBeGreaterThan(numRuns / 2)
})
