import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clip, cutAt, oneLine } from './text.ts'

it('oneLine joins any text to words with one space between them', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\t', '\u00a0', 'é', '\u0000', '~') })
  fc.assert(fc.property(text, (given) => oneLine(given, 1_000) === given.replace(/\s+/g, ' ').trim()))
})

describe('cutting text', () => {
  it('never splits a surrogate pair, however much white space is removed', () => {
    expect(oneLine(`a${' '.repeat(18)}${'🙂'.repeat(30)}`, 10)).toBe('a…')
    const text = fc.array(fc.constantFrom('a', '🙂', ' ', '\n', '   '), { maxLength: 60 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (given, limit) => {
        for (const shown of [oneLine(given, limit), clip(given, limit), cutAt(given, limit)]) expect(shown.isWellFormed()).toBe(true)
        expect(oneLine(given, limit).length).toBeLessThanOrEqual(limit)
      }),
    )
  })
})
