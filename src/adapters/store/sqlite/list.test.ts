import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { minute } from '../../../testing/blocks.ts'
import { owner } from '../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { type ListFilter, listQuery } from './list.ts'
import { createSqliteStore } from './store.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-list-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const open = (name: string) => createSqliteStore({ file: join(folder, name), blobs: createMemoryBlobs(), clock: createFixedClock() })

const after = { activity: minute(5), id: 'x' }
const filters: readonly [ListFilter, RegExp][] = [
  [{}, /USING INDEX conversations_by_activity/],
  [{ after }, /USING INDEX conversations_by_activity/],
  [{ waits: true }, /USING INDEX conversations_waiting/],
  [{ waits: true, after }, /USING INDEX conversations_waiting/],
  [{ folder: 't/p/u/' }, /USING INDEX conversations_by_folder/],
  [{ folder: '', after }, /USING INDEX conversations_by_folder/],
]

it('no list reads or sorts the whole table', async () => {
  const store = await open('plans.db')
  await store.close()
  const database = new DatabaseSync(join(folder, 'plans.db'), { readOnly: true })
  for (const [filter, index] of filters) {
    const { sql, values } = listQuery(filter)
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values, 51)
      .map(({ detail }) => String(detail))
      .join('; ')
    expect(plan).toMatch(index)
    expect(plan).not.toContain('TEMP B-TREE')
  }
  for (const filter of [{ workAt: minute(5) }, { workAt: minute(5), after }]) {
    const { sql, values } = listQuery(filter)
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values, 51)
    expect(plan[0]?.detail).toMatch(/SEARCH conversations USING INDEX conversations_with_work \(work_at<\?\)/)
  }
  const { sql, values } = listQuery({ prefix: 'ab' })
  expect(
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values, 51)
      .map(({ detail }) => detail)
      .join('; '),
  ).not.toMatch(/SCAN conversations(?! USING INDEX)/)
  database.close()
})

it('lists the conversations of one user, with and without folders below, and those whose id begins with a text', async () => {
  const store = await open('folders.db')
  const ids = ['plain', 't/p/u/a', 't/p/u/b', 't/p/u2/c', 't/p/u', 'x/y', 'x/y/z', 'x/\u{10ffff}', 'x/\ud7ff', 'xa']
  for (const [n, id] of ids.entries()) {
    const claim = await store.claim(id, owner('a'))
    await store.append(claim, [{ type: 'title.set', ts: minute(n), title: `Title ${n}` }])
  }
  const listed = async (query: Parameters<typeof store.list>[0]) =>
    (await store.list(query)).conversations.map(({ conversationId }) => conversationId)
  expect(await listed({ prefix: 't/p/u/' })).toEqual(['t/p/u/b', 't/p/u/a'])
  expect(await listed({ prefix: 't/p/' })).toEqual(['t/p/u', 't/p/u2/c', 't/p/u/b', 't/p/u/a'])
  expect(await listed({ prefix: 'x/' })).toEqual(['x/\ud7ff', 'x/\u{10ffff}', 'x/y/z', 'x/y'])
  expect(await listed({ prefix: 'x/\ud7ff' })).toEqual(['x/\ud7ff'])
  expect(await listed({ prefix: 'x/\u{10ffff}' })).toEqual(['x/\u{10ffff}'])
  expect(await listed({ plain: true })).toEqual(['xa', 'plain'])
  expect(await listed({ prefix: 'x', plain: true })).toEqual(['xa'])
  expect(await listed({ prefix: '', search: 'title 3' })).toEqual(['t/p/u2/c'])
  await store.close()
})

it('a search finds all matches in more conversations than it compares in one step, page by page', async () => {
  const store = await open('search.db')
  await store.close()
  const database = new DatabaseSync(join(folder, 'search.db'))
  const insert = database.prepare('INSERT INTO conversations (id, title, last_activity_at, epoch) VALUES (?, ?, ?, 1)')
  database.exec('BEGIN')
  for (let n = 0; n < 1_700; n++) insert.run(`c${n}`, n % 400 === 0 ? `Zebra ${n}` : `Title ${n}`, minute(n % 50))
  database.exec('COMMIT')
  database.close()
  const reopened = await open('search.db')
  const found: string[] = []
  let cursor: string | undefined
  do {
    const page = await reopened.list({ search: 'zebra', limit: 2, ...(cursor !== undefined && { cursor }) })
    found.push(...page.conversations.map(({ conversationId }) => conversationId))
    cursor = page.next
  } while (cursor !== undefined)
  expect(found.toSorted()).toEqual(['c0', 'c1200', 'c1600', 'c400', 'c800'])
  await reopened.close()
})
