import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { isFlag, isListOf, isMissingOr, isNumber, isOneOf, isText, readFields } from './reader.ts'

const schema = z.looseObject({
  name: z.string(),
  kind: z.enum(['file', 'display']).optional(),
  size: z.number().optional(),
  edited: z.boolean().optional(),
  used: z.array(z.number()).optional(),
})
const checks = {
  name: isText,
  kind: isMissingOr(isOneOf('file', 'display')),
  size: isMissingOr(isNumber),
  edited: isMissingOr(isFlag),
  used: isMissingOr(isListOf(isNumber)),
}

const often = (...values: readonly unknown[]) =>
  fc.oneof({ arbitrary: fc.constantFrom(...values), weight: 9 }, fc.jsonValue({ maxDepth: 1 }))
const object = fc.record(
  {
    other: fc.jsonValue({ maxDepth: 1 }),
    used: often([], [1, 2]),
    edited: often(true, false),
    size: often(0, 7),
    kind: often('file', 'display'),
    name: often('', 'a'),
  },
  { requiredKeys: ['name'] },
)

it('reads an object like a loose schema of zod, with the fields in the same order', () => {
  let read = 0
  fc.assert(
    fc.property(fc.oneof({ arbitrary: object, weight: 9 }, fc.jsonValue()), (value) => {
      const expected = schema.safeParse(value)
      const found = readFields(checks, value)
      if (found) read++
      expect(found).toEqual(expected.data)
      expect(JSON.stringify(found)).toBe(JSON.stringify(expected.data))
    }),
    { numRuns: 500 },
  )
  expect(read).toBeGreaterThan(100)
})

it('takes no field from the prototype of an object', () => {
  expect(readFields({ toString: isText }, {})).toBeUndefined()
  const hostile = JSON.parse('{"name":"a","__proto__":{"size":1}}')
  expect(readFields(checks, hostile)).toEqual({ name: 'a' })
  expect(readFields(checks, JSON.parse('{"name":"a","size":1e999}'))).toBeUndefined()
})
