import fc from 'fast-check'
import { expect, it } from 'vitest'
import { divideText, noPieces, piecesOf } from './text-pieces.ts'

const line = fc.oneof(fc.constant('a line of code that is long enough '.repeat(60)), fc.constantFrom('', 'x'), fc.string({ maxLength: 20 }))

it('the pieces are the text, end with lines, and are the same whether the text grows or comes at once', () => {
  let divided = 0
  fc.assert(
    fc.property(fc.array(line, { minLength: 5, maxLength: 40 }), fc.array(fc.nat(), { maxLength: 8 }), (lines, cuts) => {
      const whole = lines.join('\n')
      const ends = [...cuts.map((cut) => cut % (whole.length + 1)), whole.length].sort((a, b) => a - b)
      const grown = ends.reduce((pieces, end) => divideText(whole.slice(0, end), pieces), noPieces)
      const pieces = piecesOf(grown)
      if (pieces.length > 2) divided++
      expect(pieces.join('')).toBe(whole)
      expect(pieces).toEqual(piecesOf(divideText(whole)))
      for (const piece of pieces.slice(0, -1)) expect(piece.endsWith('\n')).toBe(true)
    }),
  )
  expect(divided).toBeGreaterThan(10)
})

it('a text that is not continued is divided anew', () => {
  const long = 'some words\n'.repeat(2_000)
  expect(piecesOf(divideText('short', divideText(long)))).toEqual(['short'])
  expect(piecesOf(divideText(long)).length).toBeGreaterThan(4)
})
