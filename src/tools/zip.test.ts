import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { zip } from '../../test/support/sample-files/zip.ts'
import { findZipEnd, locateData, readSmallEntry, readZip } from './zip.ts'

const archive = zip([
  { name: 'a.txt', content: 'stored', stored: true },
  { name: 'b/c.txt', content: 'deflated '.repeat(1_000) },
])

const contentOf = (bytes: Uint8Array, name: string, maxBytes = 100_000) => {
  const entry = readZip(bytes)?.find((each) => each.name === name)
  return entry && readSmallEntry(bytes, entry, maxBytes)?.toString()
}

describe('a ZIP archive', () => {
  it('lists its entries and reads stored and deflated ones', () => {
    expect(readZip(archive)?.map(({ name, size, encrypted }) => [name, size, encrypted])).toEqual([
      ['a.txt', 6, false],
      ['b/c.txt', 9_000, false],
    ])
    expect(contentOf(archive, 'a.txt')).toBe('stored')
    expect(contentOf(archive, 'b/c.txt')).toBe('deflated '.repeat(1_000))
  })

  it('is found behind other data and before its comment', () => {
    const bytes = zip([{ name: 'a', content: 'x' }], { before: Buffer.from('GIF89a'), comment: 'a comment' })
    expect(findZipEnd(bytes)).toMatchObject({ next: bytes.length, entryCount: 1, split: false })
    expect(contentOf(bytes, 'a')).toBe('x')
  })

  it('is never unpacked beyond the limit', () => {
    expect(contentOf(archive, 'b/c.txt', 9_000)).toHaveLength(9_000)
    expect(contentOf(archive, 'b/c.txt', 8_999)).toBeUndefined()
    expect(contentOf(archive, 'a.txt', 5)).toBeUndefined()
  })

  it('is unreadable when its directory is damaged or has fewer entries than declared', () => {
    expect(readZip(Buffer.from('PK'))).toBeUndefined()
    expect(readZip(archive.subarray(0, -1))).toBeUndefined()
    expect(readZip(zip([{ name: 'a', content: 'x' }], { count: 2 }))).toBeUndefined()
    expect(readZip(zip([]))).toEqual([])
  })

  it('never makes the reader throw, however it is damaged', () => {
    let readable = 0
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(archive.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }), (edits) => {
        const bytes = Buffer.from(archive)
        for (const [at, value] of edits) bytes[at] = value
        const entries = readZip(bytes) ?? []
        if (entries.length > 0) readable++
        for (const entry of entries) {
          locateData(bytes, entry)
          expect(readSmallEntry(bytes, entry, 10_000)?.length ?? 0).toBeLessThanOrEqual(10_000)
        }
      }),
      { numRuns: 1_000 },
    )
    expect(readable).toBeGreaterThan(100)
  })
})
