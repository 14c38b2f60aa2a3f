import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainJson } from './validate.ts'

describe('plainJson', () => {
  it('returns what JSON would return, and the same object when it is plain already', () => {
    const odd = fc.anything({ withDate: true, withMap: true, withSet: true, withNullPrototype: true, withSparseArray: true })
    fc.assert(
      fc.property(odd, (value) => {
        const expected = JSON.stringify(value)
        expect(JSON.stringify(plainJson(value))).toBe(expected ?? 'null')
        const plain: unknown = JSON.parse(expected ?? 'null')
        expect(plainJson(plain)).toBe(plain)
      }),
    )
  })

  it('rejects bigints and circular values', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    for (const value of [{ big: [1n] }, circle]) expect(() => plainJson(value)).toThrow('something that JSON can hold')
  })
})
