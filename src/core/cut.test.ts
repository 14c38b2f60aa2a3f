import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cutAt, cutBetween, cutEnd, ellipsize } from './cut.ts'

const text = fc.string({ unit: fc.constantFrom('a', 'é', '語', '😀', '\u{10ffff}') })
const position = fc.integer({ min: -3, max: 20 })

it('no cut splits a character, and no cut is longer than asked for', () => {
  fc.assert(
    fc.property(text, position, position, (given, from, to) => {
      const cuts = [cutAt(given, to), cutEnd(given, to), ellipsize(given, Math.max(1, to)), cutBetween(given, from, to)]
      for (const cut of cuts) expect(cut.isWellFormed()).toBe(true)
      for (const cut of cuts.slice(0, 2)) expect(cut.length).toBeLessThanOrEqual(Math.max(0, to))
      expect(ellipsize(given, Math.max(1, to)).length).toBeLessThanOrEqual(Math.max(1, to))
      expect(given.startsWith(cutAt(given, to)) && given.endsWith(cutEnd(given, to)) && given.includes(cutBetween(given, from, to))).toBe(
        true,
      )
    }),
  )
})

it('a cut keeps as much as fits', () => {
  expect([cutAt('a😀b', 2), cutAt('a😀b', 3), cutEnd('a😀b', 2), cutEnd('a😀b', 3)]).toEqual(['a', 'a😀', 'b', '😀b'])
  expect([cutBetween('a😀b😀', 2, 4), cutBetween('a😀b😀', 1, 5), ellipsize('a😀b', 3), ellipsize('a😀b', 4)]).toEqual([
    '😀b',
    '😀b',
    'a…',
    'a😀b',
  ])
})
