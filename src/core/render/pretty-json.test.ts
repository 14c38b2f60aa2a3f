import fc from 'fast-check'
import { it } from 'vitest'
import { prettyJson } from './pretty-json.ts'
import { oneLine } from './text.ts'

it('prints any JSON as JSON.stringify does', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => prettyJson(value) === JSON.stringify(value, null, 2)))
  const flat = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null)))
  fc.assert(fc.property(flat, (value) => prettyJson(value) === JSON.stringify(value, null, 2)))
})

it('makes one line of any text: words with one space between them', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\t', '\u00a0', 'é', '\u0000', '~') })
  fc.assert(fc.property(text, (given) => oneLine(given, 1_000) === given.replace(/\s+/g, ' ').trim()))
})
