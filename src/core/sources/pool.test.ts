import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sourcesPath } from '../path/build.ts'
import { parseSelector } from '../path/selector.ts'
import {
  applyMerge,
  compactSnapshot,
  emptyPool,
  markUsed,
  mergeSources,
  removeSource,
  type SourcePool,
  selectSources,
  sourcesBySid,
} from './pool.ts'
import { type IncomingSource, parseSourceRow, type SourceRow } from './source.ts'
import { sourceKey } from './source-keys.ts'

const page = (name: string, more: object = {}): IncomingSource => ({ url: `https://${name}.example/`, title: name, ...more })
const poolOf = (...rows: readonly IncomingSource[]) => mergeSources(emptyPool, rows).pool

describe('merging into the pool', () => {
  it('timeline 11.109: new rows get the next sids, not the numbers of the tool', () => {
    const prior = poolOf(...Array.from({ length: 9 }, (_, i) => page(`p${i}`)))
    const { pool, sids, renumbered } = mergeSources(
      prior,
      [1, 2, 3, 4].map((sid) => page(`new${sid}`, { sid })),
    )
    expect(sids).toEqual([10, 11, 12, 13])
    expect([...renumbered]).toEqual([
      [1, 10],
      [2, 11],
      [3, 12],
      [4, 13],
    ])
    expect(sourcesPath(sids)).toBe('so:sources_pool[10-13]')
    expect(pool.next_sid).toBe(14)
  })

  it('timeline 11.110: a known row keeps its sid among new ones', () => {
    const prior = poolOf(page('a'), page('b'), page('u'), page('d'))
    const { pool, sids, changed } = mergeSources(prior, [page('u'), page('v'), page('w')])
    expect(sids).toEqual([3, 5, 6])
    expect(sourcesPath(sids)).toBe('so:sources_pool[3, 5-6]')
    expect(changed.map(({ sid }) => sid)).toEqual([5, 6])
    expect(pool.rows.map(({ sid, title }) => [sid, title])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'u'],
      [4, 'd'],
      [5, 'v'],
      [6, 'w'],
    ])
  })

  it('timeline 11.112: one file with two URLs is one row', () => {
    const file = (url: string): IncomingSource => ({ url, physical_path: 'turn_1/files/a.png', source_type: 'file' })
    const { pool, sids } = mergeSources(emptyPool, [file('https://a.b/1'), file('https://a.b/2')])
    expect(sids).toEqual([1, 1])
    expect(pool.rows).toEqual([{ ...file('https://a.b/1'), sid: 1 }])
  })

  it('timeline 11.113: a longer title, text or content replaces a shorter one, never the other way round', () => {
    const short = page('x', { title: 'T', text: 'te', content: 'co' })
    const long = page('x', { title: 'Title', text: 'text', content: 'content' })
    const expected = [{ ...long, sid: 1 }]
    expect(poolOf(short, long).rows).toEqual(expected)
    expect(poolOf(long, short).rows).toEqual(expected)
  })

  it('fills in missing fields, keeps known ones, and takes the better score', () => {
    const prior = poolOf(page('x', { mime: 'text/html', weighted_rank: 0.5, query_relevance: 0.2, favicon: '' }))
    const { pool } = mergeSources(prior, [
      page('x', { mime: 'text/plain', domain: 'x.example', weighted_rank: 0.4, query_relevance: 0.9, favicon: 'f', extra: [1] }),
    ])
    expect(pool.rows).toEqual([
      page('x', { sid: 1, mime: 'text/html', weighted_rank: 0.5, query_relevance: 0.9, favicon: 'f', domain: 'x.example', extra: [1] }),
    ])
  })

  it('a URL in the place of a title is replaced by any title', () => {
    const untitled = parseSourceRow({ url: 'https://x.example/a/very/long/address' }) as IncomingSource
    const titled = { ...untitled, title: 'X' }
    expect(poolOf(untitled, titled).rows[0]?.title).toBe('X')
    expect(poolOf(titled, untitled).rows[0]?.title).toBe('X')
  })

  it('the content length always belongs to the stored content', () => {
    const body = (content: string, content_length?: number) =>
      page('x', { content, ...(content_length === undefined ? {} : { content_length }) })
    expect(poolOf(body('aa', 2), body('bbb')).rows[0]).toMatchObject({ content: 'bbb', content_length: 3 })
    expect(poolOf(body('bbb'), body('aa', 2)).rows[0]).not.toHaveProperty('content_length')
    expect(poolOf(page('x'), page('x', { content_length: 9 })).rows[0]).toMatchObject({ content_length: 9 })
  })

  it('says when and how the stored content was fetched', () => {
    const part = page('x', { content: 'part', fetch_status: 'paywall', fetched_time_iso: '2026-01-01T00:00:00Z' })
    const whole = page('x', { content: 'whole text', fetch_status: 'success', fetched_time_iso: '2026-01-02T00:00:00Z' })
    const expected = { content: 'whole text', fetch_status: 'success', fetched_time_iso: '2026-01-02T00:00:00Z' }
    expect(poolOf(part, whole).rows[0]).toMatchObject(expected)
    expect(poolOf(whole, part).rows[0]).toMatchObject(expected)
  })

  it('two spellings of one URL in one batch are one row, and both numbers lead to it', () => {
    const { sids, renumbered } = mergeSources(emptyPool, [
      { sid: 7, url: 'https://A.b/x/?utm_source=1' },
      { sid: 8, url: 'a.b/x#top' },
    ])
    expect(sids).toEqual([1, 1])
    expect([...renumbered]).toEqual([
      [7, 1],
      [8, 1],
    ])
  })

  it('if a tool used a number twice, its first row counts', () => {
    expect([...mergeSources(emptyPool, [page('a', { sid: 1 }), page('b', { sid: 1 })]).renumbered]).toEqual([[1, 1]])
  })

  it('a removed source that is merged again gets a new sid', () => {
    const pool = removeSource(poolOf(page('a'), page('b')), 2)
    expect(pool).toEqual({ rows: [page('a', { sid: 1 })], next_sid: 3 })
    expect(mergeSources(pool, [page('b')]).sids).toEqual([3])
  })

  it('never assigns the sid of an existing row, even if the counter is too low', () => {
    expect(mergeSources({ rows: [page('a', { sid: 5 }) as never], next_sid: 1 }, [page('b')]).sids).toEqual([6])
    expect(applyMerge(emptyPool, { rows: [page('a', { sid: 5 }) as never], next_sid: 0 }).next_sid).toBe(6)
  })

  it('marks only cited rows as used', () => {
    const pool = poolOf(page('a'), page('b'))
    expect(markUsed(pool, [2, 9]).rows).toEqual([page('a', { sid: 1 }), page('b', { sid: 2, used: true })])
    expect(mergeSources(markUsed(pool, [2]), [page('b', { used: false })]).changed).toEqual([])
  })
})

const incoming: fc.Arbitrary<IncomingSource> = fc.record(
  {
    url: fc.constantFrom('https://a.b/', 'https://a.b', 'a.b/', 'https://a.b/c', 'http://a.b:8080/', 'http://a.b:8000', 'mailto:x'),
    physical_path: fc.constantFrom('turn_1/files/a.png', 'turn_1/files/b.png'),
    sid: fc.integer({ min: 1, max: 6 }),
    title: fc.constantFrom('', 'T', 'Title', 'https://long.example/address'),
    text: fc.constantFrom('t', 'text'),
    content: fc.constantFrom('', 'c', 'cc', 'ccc'),
    content_length: fc.integer({ min: 0, max: 9 }),
    weighted_rank: fc.double({ noNaN: true, min: 0, max: 1 }),
    used: fc.boolean(),
    extra: fc.integer(),
  },
  { requiredKeys: ['url'] },
)
const batch = fc.array(incoming, { maxLength: 5 })

type Step = { readonly merge: readonly IncomingSource[] } | { readonly remove: number } | { readonly use: readonly number[] }
const steps = fc.array(
  fc.oneof(
    fc.record({ merge: batch }),
    fc.record({ remove: fc.integer({ min: 1, max: 12 }) }),
    fc.record({ use: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }) }),
  ) as fc.Arbitrary<Step>,
  { maxLength: 15 },
)

const frozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

function applyStep(pool: SourcePool, step: Step): SourcePool {
  if ('merge' in step) return mergeSources(pool, step.merge).pool
  return 'remove' in step ? removeSource(pool, step.remove) : markUsed(pool, step.use)
}

it('a sid identifies one source for ever: never another one, never two, and it is not reused after a removal', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const given = new Map<number, string>()
      const gone = new Set<number>()
      let pool = emptyPool
      for (const step of all) {
        const before = pool
        pool = frozen(applyStep(pool, step))
        if ('remove' in step && before.rows.some(({ sid }) => sid === step.remove)) gone.add(step.remove)
        expect(pool.next_sid).toBeGreaterThanOrEqual(before.next_sid)
        expect(pool.rows.map(({ sid }) => sid)).toEqual([...new Set(pool.rows.map(({ sid }) => sid))].sort((a, b) => a - b))
        expect(new Set(pool.rows.map(sourceKey)).size).toBe(pool.rows.length)
        for (const row of pool.rows) {
          expect(gone.has(row.sid)).toBe(false)
          expect(row.sid).toBeLessThan(pool.next_sid)
          expect(given.get(row.sid) ?? sourceKey(row)).toBe(sourceKey(row))
          given.set(row.sid, sourceKey(row))
        }
      }
    }),
    { numRuns: 500 },
  )
})

it('merging the same rows again changes nothing, and the changed rows are all that a copy of the pool needs', () => {
  fc.assert(
    fc.property(batch, batch, (first, second) => {
      const before = frozen(poolOf(...first))
      const { pool, changed, sids } = mergeSources(before, frozen(second))
      expect(applyMerge(before, { rows: changed, next_sid: pool.next_sid })).toEqual(pool)
      const again = mergeSources(pool, second)
      expect(again.pool).toEqual(pool)
      expect(again.changed).toEqual([])
      expect(again.sids).toEqual(sids)
      expect(second.map(sourceKey)).toEqual(sids.map((sid) => sourceKey(pool.rows.find((row) => row.sid === sid) ?? { url: 'none' })))
    }),
    { numRuns: 500 },
  )
})

it('merges one after the other give the same as merges into a copy of the pool, from which nothing is known', () => {
  const names = fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), long: fc.boolean(), file: fc.boolean() }), {
    maxLength: 4,
  })
  const rowsOf = (batch: readonly { readonly name: string; readonly long: boolean; readonly file: boolean }[]) =>
    batch.map(({ name, long, file }) =>
      page(name, { ...(long && { text: 'longer' }), ...(file && { physical_path: `turn_1/files/${name}` }) }),
    )
  fc.assert(
    fc.property(fc.array(fc.tuple(names, fc.nat(6))), (batches) => {
      let kept = emptyPool
      for (const [batch, sid] of batches) {
        const fromCopy = mergeSources(structuredClone(kept), rowsOf(batch))
        const merged = mergeSources(kept, rowsOf(batch))
        expect(merged).toEqual(fromCopy)
        kept = applyMerge(kept, { rows: merged.changed, next_sid: merged.pool.next_sid })
        expect(kept).toEqual(merged.pool)
        if (sid % 2 === 0) kept = markUsed(kept, [sid])
        if (sid === 5) kept = removeSource(kept, sid)
      }
    }),
    { numRuns: 500 },
  )
})

const pool = { rows: [1, 2, 4].map((sid) => ({ sid, url: `https://a.b/${sid}` })), next_sid: 6 }

it('returns the rows of a selector and the sids that are missing', () => {
  const { rows, missing } = selectSources(pool, parseSelector('4,2-3,9').sids)
  expect(rows.map(({ sid }) => sid)).toEqual([2, 4])
  expect(missing).toEqual([3, 9])
})

it('finds a row by its sid', () => {
  expect(sourcesBySid(pool).get(4)).toBe(pool.rows[2])
  expect(sourcesBySid(pool).get(3)).toBeUndefined()
})

const whole = {
  sid: 1,
  title: 'T',
  url: 'https://a.b',
  published_time_iso: '2025-01-01T00:00:00Z',
  favicon: 'https://a.b/f.ico',
  mime: 'text/html',
  source_type: 'web',
  artifact_path: 'fi:turn_1.files/a',
  physical_path: 'turn_1/files/a',
} as const

describe('the snapshot of the pool', () => {
  const compactRow = (row: SourceRow) => compactSnapshot({ rows: [row], next_sid: row.sid + 1 })[0] as SourceRow

  it('timeline 11.116: cuts a text of 600 characters at 500 with a mark, and leaves out the content', () => {
    const [row] = compactSnapshot({ rows: [{ sid: 1, text: 'x'.repeat(600), content: 'body' }], next_sid: 2 })
    expect(row).toEqual({ sid: 1, text: `${'x'.repeat(500)}...(truncated)` })
  })

  it('keeps the fields that lead to the file, and neither handles nor scores', () => {
    expect(
      compactRow({ ...whole, text: 't', content: 'c', rn: 'r', hosted_uri: 'h', key: 'k', weighted_rank: 1, used: true, extra: 1 }),
    ).toEqual({ ...whole, text: 't' })
  })

  it('never splits a character, and keeps 500 of them', () => {
    expect(compactRow({ sid: 1, text: '\u{1f600}'.repeat(500) }).text).toBe('\u{1f600}'.repeat(500))
    expect(compactRow({ sid: 1, text: `a${'\u{1f600}'.repeat(600)}` }).text).toBe(`a${'\u{1f600}'.repeat(499)}...(truncated)`)
  })

  it('a snapshot of a snapshot is the snapshot', () => {
    const once = compactRow({ ...whole, text: 'y'.repeat(5000) })
    expect(compactRow(once)).toEqual(once)
  })
})
