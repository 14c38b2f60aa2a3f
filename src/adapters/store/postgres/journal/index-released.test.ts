import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import type { Claim, ConversationStore } from '../../../../ports/store.ts'
import { prompt } from '../../../../testing/blocks.ts'
import { appended, owner } from '../../../../testing/conformance/store/fixture.ts'
import { createSystemClock } from '../../../clock/system.ts'
import { connectDatabase } from '../database.ts'
import { createPostgresStore } from '../store.ts'
import { INDEX_BATCH, indexAfter, MAX_UNINDEXED } from './journal.ts'

describe.skipIf(!hasPostgres)('the index of entries', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const url = server?.url ?? ''
  const client = new pg.Client({ connectionString: url, options: '-c search_path=daybook' })
  if (server) await client.connect()
  const open = () => createPostgresStore({ url, clock: createSystemClock(), maxConnections: 4 })
  const store = server ? await open() : (undefined as unknown as ConversationStore)
  afterAll(async () => {
    await store?.close()
    await client.end()
    await server?.stop()
  })

  const all = async (sql: string, values: readonly unknown[] = []) => (await client.query(sql, [...values])).rows
  const placeOf = async (id: string) => (await all('SELECT key, last_seq, indexed_seq FROM conversations WHERE id = $1', [id]))[0]
  const indexedSeq = async (id: string) => Number((await placeOf(id))?.indexed_seq)
  const rowsOf = async (key: number) => ({
    blocks: await all('SELECT number, seq FROM blocks WHERE conversation = $1 ORDER BY number', [key]),
    names: await all('SELECT kind, name_hash, seq FROM names WHERE conversation = $1 ORDER BY kind, name_hash, seq', [key]),
  })

  let number = 0
  async function append(to: ConversationStore, claim: Claim, entries: number): Promise<void> {
    for (let n = 0; n < entries; n++) await to.append(claim, [appended([prompt(`text ${++number}`)], number)])
  }

  it('is made when a conversation is released, and by an append only in a long turn', async () => {
    const claim = await store.claim('c1', owner('a'))
    await append(store, claim, INDEX_BATCH + 1)
    expect(await indexedSeq('c1')).toBe(0)
    await store.release(claim)
    await expect.poll(() => indexedSeq('c1')).toBe(INDEX_BATCH + 1)
    const again = await store.claim('c1', owner('a'))
    await append(store, again, 1)
    await store.release(again)
    const long = await store.claim('c1', owner('a'))
    await append(store, long, MAX_UNINDEXED - 1)
    expect(await indexedSeq('c1')).toBe(INDEX_BATCH + 1 + MAX_UNINDEXED)
  })

  it('is that of the journal, whatever claims and releases it between', async () => {
    const other = await open()
    for (let round = 0; round < 12; round++) {
      const mine = round % 3 === 0 ? other : store
      const claim = await mine.claim('c2', owner('a'), { takeOver: 'always' })
      await append(mine, claim, round % 2 === 0 ? INDEX_BATCH : 7)
      await mine.release(claim)
    }
    await other.close() // waits until the index is written
    const last = await store.claim('c2', owner('a'))
    await append(store, last, INDEX_BATCH)
    await store.release(last)
    await expect.poll(async () => (await placeOf('c2'))?.last_seq === (await indexedSeq('c2'))).toBe(true)
    const { key } = (await placeOf('c2')) ?? {}
    const made = await rowsOf(key)
    expect(made.blocks.length).toBeGreaterThan(6 * INDEX_BATCH)
    for (const table of ['blocks', 'names']) await client.query(`DELETE FROM ${table} WHERE conversation = $1`, [key])
    const database = await connectDatabase({ url })
    await database.write((queries) => indexAfter(queries, 'c2', key, 0))
    await database.close()
    expect(made).toEqual(await rowsOf(key))
  })

  it('leaves nothing of a conversation that is deleted at the same moment', async () => {
    for (let round = 0; round < 5; round++) {
      const claim = await store.claim('c3', owner('a'))
      await append(store, claim, INDEX_BATCH)
      const { key } = (await placeOf('c3')) ?? {}
      await Promise.all([store.release(claim), store.delete('c3')])
      await expect.poll(async () => placeOf('c3')).toBeUndefined()
      expect(await rowsOf(key)).toEqual({ blocks: [], names: [] })
    }
  })
})
