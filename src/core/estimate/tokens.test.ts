import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutToTokens, roughTokens } from './tokens.ts'

describe('the rough estimate of tokens', () => {
  it.each([
    ['', 0],
    ['a quarter of it', 4],
    ['Größe, façade, Việt', 5],
    ['日本語です。', 6],
    ['Привет', 6],
    ['मस्ते', 5],
    ['ab日本', 3],
    ['══════════', 3],
  ])('of %j is %i', (text, tokens) => {
    expect(roughTokens(text)).toBe(tokens)
  })

  it('is a quarter of the length of every ASCII text, and at most the length of any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => roughTokens(text) === Math.ceil(text.length / 4)))
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => roughTokens(text) <= text.length))
  })
})

describe('a text that is cut to a number of tokens', () => {
  it('is a beginning of the text within the limit, whole characters only, and whole if it fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b ', '日', '𠮷', '\n') }), fc.nat(40), (text, max) => {
        const cut = cutToTokens(text, max, roughTokens)
        expect(text.startsWith(cut)).toBe(true)
        expect(roughTokens(cut)).toBeLessThanOrEqual(max)
        expect(cut.isWellFormed()).toBe(true)
        if (roughTokens(text) <= max) expect(cut).toBe(text)
      }),
    )
  })
})
