import { createHash } from 'node:crypto'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import { startPostgresProxy } from '../../../../../test/support/postgres-proxy.ts'
import type { Database } from '../database.ts'
import { openDatabase } from '../database.ts'
import { createPostgresBlobs } from './blobs.ts'

const PIECES = 5

async function* pieces(onPiece: (n: number) => Promise<void> = async () => {}): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < PIECES; n++) {
    await onPiece(n)
    yield new Uint8Array(200_000).fill(n + 1)
  }
}
const content = Buffer.concat(Array.from({ length: PIECES }, (_, n) => new Uint8Array(200_000).fill(n + 1)))
const sha256 = createHash('sha256').update(content).digest('hex')

describe.skipIf(!hasPostgres)('a stream that is stored in PostgreSQL', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const cleanUp: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const work of cleanUp.splice(0).reverse()) await work()
  })
  afterAll(() => server?.stop())
  let schemas = 0

  async function open(url = server?.url ?? '', schema = `streams_${++schemas}`) {
    const database = await openDatabase({ url, schema, maxConnections: 2 })
    cleanUp.push(() => database.close())
    return { database, blobs: createPostgresBlobs(database), schema }
  }
  const keysIn = async (database: Database) =>
    (await database.all<{ sha256: string }>('SELECT DISTINCT sha256 FROM blobs')).map((row) => row.sha256)

  it('has no rows if it breaks off, is too large, or its bytes are stored already', async () => {
    const { database, blobs } = await open()
    const breakOff = async (n: number) => {
      if (n < 3) return
      expect((await keysIn(database)).map((key) => key.slice(0, 6))).toEqual(['draft:'])
      expect(await blobs.list()).toEqual([])
      throw new Error('the connection was lost')
    }
    await expect(blobs.putStream(pieces(breakOff))).rejects.toThrow('the connection was lost')
    await expect(blobs.putStream(pieces(), { maxBytes: 700_000 })).rejects.toMatchObject({ code: 'file.unsafe' })
    expect(await keysIn(database)).toEqual([])
    for (const _ of [1, 2]) expect(await blobs.putStream(pieces())).toEqual({ sha256, size: content.length })
    expect(await keysIn(database)).toEqual([sha256])
    expect(await blobs.list()).toMatchObject([{ sha256, size: content.length }])
  })

  it('of a process that was killed is removed when it is old', async () => {
    const { database, blobs } = await open()
    const killed = async (n: number) => {
      if (n === 3) await new Promise<never>(() => {})
    }
    void blobs.putStream(pieces(killed))
    await expect.poll(() => keysIn(database)).toHaveLength(1)
    await blobs.removeUnfinished?.(Date.now() - 3_600_000)
    expect(await keysIn(database)).toHaveLength(1)
    await blobs.putStream(pieces())
    await blobs.removeUnfinished?.(Date.now() + 3_600_000)
    expect(await keysIn(database)).toEqual([sha256])
  })

  it('fails and leaves no rows if a part of it was lost', async () => {
    const { database, blobs } = await open()
    const lose = async (n: number) => {
      if (n === 4) await database.statements.run('DELETE FROM blobs WHERE part = 1')
    }
    await expect(blobs.putStream(pieces(lose))).rejects.toMatchObject({ code: 'store.failed' })
    expect(await keysIn(database)).toEqual([])
  })

  it('is stored once, and completely, wherever the connection is lost', async () => {
    const proxy = await startPostgresProxy(server?.url ?? '')
    cleanUp.push(() => proxy.close())
    const { blobs, schema } = await open(proxy.url)
    const { database } = await open(server?.url, schema)
    let cuts = 0
    for (const side of ['before', 'after'] as const) {
      for (let request = 1; ; request++) {
        await database.statements.run('DELETE FROM blobs')
        proxy.cutAt(request, side)
        expect(await blobs.putStream(pieces())).toEqual({ sha256, size: content.length })
        if (!proxy.state.wasCut) break
        cuts++
        expect(await keysIn(database)).toEqual([sha256])
        expect(Buffer.compare(await blobs.get(sha256), content)).toBe(0)
      }
    }
    expect(cuts).toBeGreaterThan(2 * PIECES)
  })
})
