import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, it } from 'vitest'
import { loadTokenCounter } from './token-counter.ts'

const prose = 'The house has a bright red door, and nobody has ever counted its 1,024 windows.\n'

it('counts prose as the tokenizer does, whatever its length', async () => {
  const count = await loadTokenCounter()
  expect(count(prose)).toBe(countTokens(prose))
  const long = prose.repeat(200)
  expect(count(long) / countTokens(long)).toBeCloseTo(1, 1)
})

it('counts any text as plain text: control tokens, lone surrogates, the empty string', async () => {
  const count = await loadTokenCounter()
  expect(count('')).toBe(0)
  expect(count('<|endoftext|>')).toBeGreaterThan(1)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (text) => {
      const tokens = count(text)
      expect(Number.isSafeInteger(tokens)).toBe(true)
      expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text)) // every token has at least one byte
    }),
    { numRuns: 50 },
  )
})

it('counts text without word breaks in reasonable time', async () => {
  const count = await loadTokenCounter()
  for (const text of ['a'.repeat(200_000), ' '.repeat(200_000), '漢字仮名交じり文'.repeat(10_000), '👩‍👩‍👧'.repeat(10_000)]) {
    expect(count(text)).toBeGreaterThan(0) // without `maxPieceLength` each of these texts would take minutes
  }
})
