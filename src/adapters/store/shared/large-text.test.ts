import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeRow, encodeRow, LARGE_TEXT, largeTextsOf } from './large-text.ts'
import { plainJson } from './plain-json.ts'

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function roundTrip(value: unknown): unknown {
  const { body, texts } = encodeRow(value, hash)
  const row: unknown = JSON.parse(body)
  expect(new Set(largeTextsOf(row))).toEqual(new Set(texts.keys()))
  return decodeRow(row, (sha256) => Buffer.from(texts.get(sha256) ?? []).toString())
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('x'.repeat(LARGE_TEXT), 'x'.repeat(LARGE_TEXT + 1), `\ufeff${'é'.repeat(5_000)}`, `${'🙂'.repeat(3_000)}\ud83d`),
)
const key = fc.oneof(fc.constantFrom('$blob', '$literal', '__proto__', '1', 'a', 'b'), fc.string({ maxLength: 3 }))
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 5 }, text, fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('tree'), { maxLength: 3 }),
  object: fc
    .uniqueArray(fc.tuple(key, tie('tree')), { maxLength: 3, selector: ([name]) => name })
    .map((pairs) => Object.fromEntries(pairs)),
}))

describe('rows', () => {
  it('give back every value, in the order of its keys, whatever it pretends to be', () => {
    fc.assert(
      fc.property(tree, (value) => {
        expect(JSON.stringify(roundTrip({ value }))).toBe(JSON.stringify({ value }))
      }),
      { numRuns: 500 },
    )
  })

  it('hold no text beyond 8 KB, unless UTF-8 has no word for it', () => {
    const { body, texts } = encodeRow(
      { small: 'x'.repeat(LARGE_TEXT), large: 'é'.repeat(LARGE_TEXT), half: `\ud83d${'y'.repeat(LARGE_TEXT)}` },
      hash,
    )
    const row = JSON.parse(body) as { small: unknown; large: unknown; half: unknown }
    const bytes = Buffer.from('é'.repeat(LARGE_TEXT))
    expect(row.large).toEqual({ $blob: { sha256: hash(bytes), size: 2 * LARGE_TEXT } })
    expect([typeof row.small, typeof row.half, texts.size]).toEqual(['string', 'string', 1])
  })

  it('refuse a mark that marks nothing', () => {
    expect(() => decodeRow({ $blob: 'x' }, () => '')).toThrow(TypeError)
    expect(() => decodeRow({ $literal: 'x' }, () => '')).toThrow(TypeError)
  })
})

describe('plain JSON', () => {
  it('is what JSON would give back, and the same object when it is that already', () => {
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

  it('has no bigint and no end without end', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    for (const value of [{ big: [1n] }, circle]) expect(() => plainJson(value)).toThrow('something that JSON can hold')
  })
})
