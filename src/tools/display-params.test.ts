import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { JsonObject } from '../core/json.ts'
import { displayParams, shortenParams } from './display-params.ts'

const text = fc.oneof(
  { weight: 8, arbitrary: fc.string() },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(2_000), 'x'.repeat(2_001), 'QUJD'.repeat(400), 'QUJD'.repeat(750)) },
)
const leaf = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null))
const value = fc.oneof(
  leaf,
  fc.array(leaf, { maxLength: 60 }),
  fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(leaf, { maxLength: 4 })), { maxKeys: 5 }),
)
const params = fc.oneof(
  { weight: 9, arbitrary: fc.dictionary(fc.string(), value, { maxKeys: 6 }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 78, max: 83 }).map((keys) => Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n]))),
  },
)

it('displayed parameters are those of the general version, whether or not they have to be shortened', () => {
  const count = { unchanged: 0, shortened: 0 }
  const origin = { turnId: 'turn_1', callId: 'c1' }
  fc.assert(
    fc.property(params, fc.constantFrom('shop.send', 'react.write'), (given, toolId) => {
      const shown = displayParams(toolId, given as JsonObject, origin)
      expect(JSON.stringify(shown)).toBe(JSON.stringify(shortenParams(toolId, given as JsonObject, origin)))
      count[shown === given ? 'unchanged' : 'shortened']++
    }),
    { numRuns: 1_000 },
  )
  expect(Math.min(count.unchanged, count.shortened)).toBeGreaterThan(100)
})
