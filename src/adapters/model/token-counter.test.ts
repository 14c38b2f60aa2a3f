import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, it } from 'vitest'
import { loadTokenCounter } from './token-counter.ts'

const prose = 'The house has a bright red door, and nobody has ever counted its 1,024 windows.\n'

it('counts prose as the tokenizer does, however long it is', async () => {
  const count = await loadTokenCounter()
  expect(count(prose)).toBe(countTokens(prose))
  const long = prose.repeat(200)
  expect(count(long) / countTokens(long)).toBeCloseTo(1, 1)
})

it('takes any text for text: control tokens, halves of characters, nothing', async () => {
  const count = await loadTokenCounter()
  expect(count('')).toBe(0)
  expect(count('<|endoftext|>')).toBeGreaterThan(1)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (text) => {
      const tokens = count(text)
      expect(Number.isSafeInteger(tokens)).toBe(true)
      expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text)) // no token is less than a byte
    }),
    { numRuns: 50 },
  )
})

it('gets through what a tokenizer can not split', async () => {
  const count = await loadTokenCounter()
  for (const text of ['a'.repeat(200_000), ' '.repeat(200_000), '漢字仮名交じり文'.repeat(10_000), '👩‍👩‍👧'.repeat(10_000)]) {
    expect(count(text)).toBeGreaterThan(0) // without a limit each of these takes minutes
  }
})
