import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { journals } from '../../../test/support/generators/changes.ts'
import { hasPostgres, startPostgres } from '../../../test/support/postgres.ts'
import { type Block, blockId, blockNumber, callIdOf } from '../../core/block/index.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import { blocksOfChange, type Change } from '../../core/timeline/change.ts'
import { blocksOf, emptyTimeline, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import type { ConversationStore, Entry } from '../../ports/store.ts'
import { minute } from '../../testing/blocks.ts'
import { compacted, comparable, journalOf, owner, visibleTimeline } from '../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createMemoryStore } from './memory/store.ts'
import { createPostgresStore } from './postgres/store.ts'
import { createSqliteStore } from './sqlite/store.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-stores-'))
const server = hasPostgres ? await startPostgres() : undefined
const opened: ConversationStore[] = []
afterAll(async () => {
  rmSync(root, { recursive: true, force: true })
  await Promise.all(opened.map((store) => store.close()))
  await server?.stop()
})

let names = 0
const newName = () => `c${names++}`

interface OpenedStore {
  readonly store: ConversationStore
  /** Opens a second store on the data of `store`. */
  reopen(): Promise<ConversationStore>
}

async function memory(): Promise<OpenedStore> {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
  return { store, reopen: async () => store }
}

async function sqlite(): Promise<OpenedStore> {
  const blobs = createMemoryBlobs()
  const file = join(mkdtempSync(join(root, 's-')), 'daybook.db')
  const open = () => createSqliteStore({ file, blobs, clock: createFixedClock() })
  return { store: await open(), reopen: open }
}

async function postgres(): Promise<OpenedStore> {
  const [blobs, schema] = [createMemoryBlobs(), newName()]
  const open = async () => {
    const store = await createPostgresStore({
      url: server?.url ?? '',
      schema,
      blobs,
      clock: createFixedClock(),
      leaseTime: 'clock',
      maxConnections: 3,
    })
    opened.push(store)
    return store
  }
  return { store: await open(), reopen: open }
}

const stores = { memory, sqlite, ...(server && { postgres }) }
const runs = { numRuns: 60 }
const journalsAndSizes = fc.tuple(journals({ maxLength: 25 }), fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 }))

/**
 * Splits the journal into appends. `sizes` are the numbers of changes per append. They are used again from the first one if there are more
 * appends.
 */
function split(changes: readonly Change[], sizes: readonly number[]): readonly (readonly Change[])[] {
  const appends: (readonly Change[])[] = []
  for (let at = 0, n = 0; at < changes.length; n++) {
    const size = sizes[n % sizes.length] as number
    appends.push(changes.slice(at, at + size))
    at += size
  }
  return appends
}

async function fill(store: ConversationStore, name: string, appends: readonly (readonly Change[])[]): Promise<readonly Entry[]> {
  const claim = await store.claim(name, owner('a'))
  const entries: Entry[] = []
  for (const changes of appends) entries.push(...(await store.append(claim, changes)))
  return entries
}

/** A compaction of all blocks in these changes. */
function compactionOf(changes: readonly Change[]): Change {
  const last = Math.max(0, ...changes.flatMap(blocksOfChange).map(({ id }) => blockNumber(id) ?? 0))
  return compacted(blockId(last), last + 1, 't9')
}

const replay = (entries: readonly Entry[]): Timeline =>
  entries.reduce((timeline, { change }) => applyChange(timeline, change), emptyTimeline())
const plain = (timeline: Timeline) => comparable(timeline, blocksOf(timeline))

for (const [name, create] of Object.entries(stores)) {
  describe(`any journal in the ${name} store`, () => {
    it('gives the same timeline when replayed from the first entry, loaded, and loaded by another store', async () => {
      const { store, reopen } = await create()
      const other = await reopen()
      await fc.assert(
        fc.asyncProperty(journalsAndSizes, async ([changes, sizes]) => {
          const id = newName()
          const entries = await fill(store, id, split(changes, sizes))
          const expected = { lastSeq: changes.length, ...plain(replay(entries)) }
          expect(await visibleTimeline(store, id)).toEqual(expected)
          expect(await visibleTimeline(other, id)).toEqual(expected)
          expect(await journalOf(other, id)).toEqual(entries)
        }),
        runs,
      )
    })

    it('is listed and searched as a scan of the whole journal would', async () => {
      const { store } = await create()
      await fc.assert(
        fc.asyncProperty(journalsAndSizes, async ([changes, sizes]) => {
          const id = newName()
          const entries = await fill(store, id, split(changes, sizes))
          const timeline = replay(entries)
          const blocks = entries.flatMap(({ change }) => blocksOfChange(change))
          for (const path of distinct(blocks, (block) => block.path)) {
            expect(await store.findByPath(id, path)).toEqual(blocks.filter((block) => block.path === path))
          }
          for (const turn of distinct(blocks, (block) => block.turn_id)) {
            expect(await store.findByTurn(id, turn)).toEqual(blocks.filter((block) => block.turn_id === turn))
          }
          for (const call of distinct(blocks, callIdOf)) {
            expect(await store.findByCall(id, call)).toEqual(blocks.filter((block) => callIdOf(block) === call))
          }
          const { conversations } = await store.list({ limit: 500 })
          const head = {
            conversationId: id,
            title: timeline.title?.toWellFormed() ?? null,
            startedAt: timeline.startedAt ?? null,
            lastActivityAt: timeline.lastTs ?? null,
            lastSeq: changes.length,
            openTurn: timeline.openTurn?.turn_id ?? null,
            waiting: waitingIn(entries, timeline),
            offers: 0,
            waits: timeline.openTurn?.waits ?? [],
            dueAt: timeline.openTurn?.waits ? expect.toSatisfy((due) => due === null || typeof due === 'string') : null,
          }
          expect(conversations.find(({ conversationId }) => conversationId === id)).toEqual(head)
          expect(await store.head(id)).toEqual(head)
        }),
        runs,
      )
    })

    it('shows the same timeline after retention, and its turn logs are exact or gone', async () => {
      const { store, reopen } = await create()
      const other = await reopen()
      const counts = { exact: 0, gone: 0 }
      await fc.assert(
        fc.asyncProperty(
          journalsAndSizes,
          fc.boolean(),
          fc.integer({ min: 4_000, max: 6_000 }),
          async ([changes, sizes], compact, before) => {
            const id = newName()
            await fill(store, id, [...split(changes, sizes), ...(compact ? [[compactionOf(changes)]] : [])])
            const value = await visibleTimeline(store, id)
            const turns = ['t1', 't2', 't3']
            const logs = await Promise.all(turns.map((turn) => store.readTurnLog(id, turn)))
            await store.retain({ historyBefore: minute(before) })
            expect(await visibleTimeline(other, id)).toEqual(value)
            for (const [n, turn] of turns.entries()) {
              const log = await other.readTurnLog(id, turn)
              if (log !== undefined) expect(log).toEqual(logs[n])
              if (log !== undefined) counts.exact += 1
              else if (logs[n] !== undefined) counts.gone += 1
            }
            expect((await other.exportBundle(id)).timeline.blocks).toEqual((value as { blocks: readonly Block[] }).blocks)
            await store.delete(id)
          },
        ),
        { numRuns: 40 },
      )
      expect(counts.exact).toBeGreaterThan(10)
      expect(counts.gone).toBeGreaterThan(2)
    })
  })
}

for (const [from, create] of Object.entries(stores)) {
  for (const [to, other] of Object.entries(stores)) {
    it(`exporting from ${from}, importing into ${to} and exporting again gives the same bytes`, async () => {
      const source = (await create()).store
      const target = (await other()).store
      await fc.assert(
        fc.asyncProperty(journalsAndSizes, async ([changes, sizes]) => {
          const id = newName()
          await fill(source, id, split(changes, sizes))
          const bundle = JSON.stringify(await source.exportBundle(id))
          await target.importBundle(JSON.parse(bundle))
          expect(JSON.stringify(await target.exportBundle(id))).toBe(bundle)
        }),
        { numRuns: 30 },
      )
    })
  }
}

/**
 * The ids of the followups that wait in the timeline. If an event id was accepted twice, the store's list may contain further ids. The
 * reason is that the store keeps only the waiting ids. So it does not know that a turn has already read an event with the same id.
 */
function waitingIn(entries: readonly Entry[], timeline: Timeline): unknown {
  const ids = entries.flatMap(({ change }) => (change.type === 'event.accepted' ? [change.event.event_id] : []))
  const waiting = waitingFollowups(timeline).map(({ event_id }) => event_id)
  return new Set(ids).size === ids.length ? waiting : expect.arrayContaining(waiting)
}

const distinct = (blocks: readonly Block[], of: (block: Block) => string | undefined) => new Set(blocks.flatMap((block) => of(block) ?? []))
