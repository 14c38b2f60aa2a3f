import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { toolResultBlock } from '../../../core/block/index.ts'
import type { Change } from '../../../core/timeline/change.ts'
import type { ListQuery } from '../../../ports/store/list.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { minute } from '../../../testing/blocks.ts'
import { accepted, appended, closed, opened, owner, waitingTurn } from '../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createMemoryStore } from '../memory/store.ts'
import { createSqliteStore } from './store.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-running-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const open = (name: string) => createSqliteStore({ file: join(folder, name), blobs: createMemoryBlobs(), clock: createFixedClock() })

const result = (number: number, at: number): Change => {
  const origin = { turnId: 't1', callId: `c${number}`, iteration: number, ts: minute(at) }
  return appended([toolResultBlock(origin, { mime: 'text/plain', text: 'done' })], number)
}

/** The numbers of the pages that are in the write-ahead log from a position on, and the next position. */
function pagesInLog(file: string, from: number): { readonly pages: readonly number[]; readonly next: number } {
  const log = readFileSync(`${file}-wal`)
  const frame = 24 + log.readUInt32BE(8)
  const frames = Math.floor((log.length - 32) / frame)
  return { pages: Array.from({ length: frames - from }, (_, n) => log.readUInt32BE(32 + (from + n) * frame)), next: frames }
}

/** The tables and indexes whose pages `work` writes. */
async function tablesWrittenBy(file: string, work: () => Promise<unknown>): Promise<ReadonlySet<string | undefined>> {
  const { next } = pagesInLog(file, 0)
  await work()
  const { pages } = pagesInLog(file, next)
  const database = new DatabaseSync(file, { readOnly: true })
  const names = new Map(
    database
      .prepare('SELECT pageno, name FROM dbstat')
      .all()
      .map(({ pageno, name }) => [pageno, String(name)]),
  )
  database.close()
  return new Set(pages.map((page) => names.get(page)))
}

it('an append of a running turn writes no page of the indexes that lists are read from', async () => {
  const store = await open('pages.db')
  const claim = await store.claim('c1', owner('a'))
  await store.append(claim, [opened('t1', 1)])
  const written = await tablesWrittenBy(join(folder, 'pages.db'), async () => {
    await store.append(claim, [result(1, 2)])
    await store.append(claim, [result(2, 3)])
  })
  expect([...written]).toEqual(expect.arrayContaining(['conversations', 'journal']))
  const lists = ['conversations_by_activity', 'conversations_by_folder', 'conversations_with_work', 'conversations_waiting']
  expect(lists.filter((name) => written.has(name))).toEqual([])
  expect((await store.head('c1'))?.lastActivityAt).toBe(minute(3))
  await store.close()
})

it('the next turn of a conversation gets its place in lists when it ends', async () => {
  const store = await open('next-turn.db')
  const claim = await store.claim('c1', owner('a'))
  await store.append(claim, [opened('t1', 1), closed('t1', 2)])
  const places = ['conversations_by_activity', 'conversations_by_folder']
  const atStart = await tablesWrittenBy(join(folder, 'next-turn.db'), () => store.append(claim, [opened('t2', 3)]))
  expect(places.filter((name) => atStart.has(name))).toEqual([])
  expect(atStart).toContain('conversations_with_work')
  expect((await store.list({})).conversations).toMatchObject([{ conversationId: 'c1', lastActivityAt: minute(3), openTurn: 't2' }])
  const atEnd = await tablesWrittenBy(join(folder, 'next-turn.db'), () => store.append(claim, [closed('t2', 4)]))
  expect(places.filter((name) => atEnd.has(name))).toEqual(places)
  expect((await store.list({})).conversations).toMatchObject([{ conversationId: 'c1', lastActivityAt: minute(4), openTurn: null }])
  await store.close()
})

const ids = ['a', 'b', 't/p/u/c', 't/p/u/d']
const step = fc.record({
  id: fc.constantFrom(...ids),
  kind: fc.constantFrom('open', 'open', 'append', 'append', 'append', 'append', 'close', 'wait', 'title', 'followup'),
  at: fc.integer({ min: 0, max: 59 }), // times may go back
})
const openTurn = (id: string) => ({ id, kind: 'open', at: 0 })
const queries: readonly ListQuery[] = [{}, { prefix: 't/p/u/' }, { plain: true }, { open: true }, { waits: true }, { search: 'tit' }]

/** All pages of a list, with one or two conversations per page. */
async function pagesOf(store: ConversationStore, query: ListQuery, limit: number) {
  const pages: unknown[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ ...query, limit, ...(cursor !== undefined && { cursor }) })
    pages.push(page)
    cursor = page.next
    if (cursor === undefined) return pages
  }
}

it('lists are the same as those of the memory store, whichever turns are running', async () => {
  let files = 0
  let running = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
      const clock = createFixedClock()
      const sqlite = await open(`lists-${files++}.db`)
      const memory = createMemoryStore({ blobs: createMemoryBlobs(), clock })
      try {
        const claims = await Promise.all(
          ids.map(async (id) => [id, await sqlite.claim(id, owner('a')), await memory.claim(id, owner('a'))] as const),
        )
        for (const [number, { id, kind, at }] of [...ids.slice(1, 3).map(openTurn), ...steps].entries()) {
          const change = changeOf(kind, number + 1, at)
          const [, first, second] = claims.find(([name]) => name === id) as (typeof claims)[number]
          await sqlite.append(first, [change])
          await memory.append(second, [change])
          if (kind === 'append' && (await memory.head(id))?.openTurn) running++
        }
        for (const id of ids) expect(await sqlite.head(id)).toEqual(await memory.head(id))
        for (const query of queries)
          for (const limit of [1, 3]) expect(await pagesOf(sqlite, query, limit)).toEqual(await pagesOf(memory, query, limit))
      } finally {
        await sqlite.close()
      }
    }),
    { numRuns: 25 },
  )
  expect(running).toBeGreaterThan(25)
})

function changeOf(kind: string, number: number, at: number): Change {
  switch (kind) {
    case 'open':
      return opened('t1', at)
    case 'close':
      return closed('t1', at)
    case 'wait':
      return waitingTurn('t1', at, [{ wait_id: `w${number}`, kind: 'approval' }])
    case 'title':
      return { type: 'title.set', ts: minute(at), title: `Title ${number}` }
    case 'followup':
      return accepted(`e${number}`, at)
    default:
      return result(number, at)
  }
}

it('the last append counts, even if a process with an older version of Daybook made it', async () => {
  const store = await open('older.db')
  const claim = await store.claim('c1', owner('a'))
  await store.append(claim, [opened('t1', 1)])
  await store.append(claim, [result(1, 2)])
  const database = new DatabaseSync(join(folder, 'older.db'))
  database.exec(`UPDATE conversations SET last_activity_at = '${minute(4)}', last_seq = 3`) // the columns that version 10 writes
  database.close()
  expect(await store.head('c1')).toMatchObject({ lastActivityAt: minute(4), lastSeq: 3 })
  expect((await store.list({})).conversations).toMatchObject([{ conversationId: 'c1', lastActivityAt: minute(4) }])
  await store.close()
})
