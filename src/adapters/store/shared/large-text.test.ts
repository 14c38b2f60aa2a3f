import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeRow, encodeRow, LARGE_TEXT, largeTextsOf } from './large-text.ts'

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

describe('rows with large texts', () => {
  it('decode to the encoded value, with the order of its keys, even when it looks like a marker', () => {
    fc.assert(
      fc.property(tree, (value) => {
        expect(JSON.stringify(roundTrip({ value }))).toBe(JSON.stringify({ value }))
      }),
      { numRuns: 500 },
    )
  })

  it('move text above 8 KB to blobs, unless it has no UTF-8 form', () => {
    const { body, texts } = encodeRow(
      { small: 'x'.repeat(LARGE_TEXT), large: 'é'.repeat(LARGE_TEXT), half: `\ud83d${'y'.repeat(LARGE_TEXT)}` },
      hash,
    )
    const row = JSON.parse(body) as { small: unknown; large: unknown; half: unknown }
    const bytes = Buffer.from('é'.repeat(LARGE_TEXT))
    expect(row.large).toEqual({ $blob: { sha256: hash(bytes), size: 2 * LARGE_TEXT } })
    expect([typeof row.small, typeof row.half, texts.size]).toEqual(['string', 'string', 1])
  })

  it('are rejected when a marker holds neither a reference nor an object', () => {
    expect(() => decodeRow({ $blob: 'x' }, () => '')).toThrow(TypeError)
    expect(() => decodeRow({ $literal: 'x' }, () => '')).toThrow(TypeError)
  })
})
