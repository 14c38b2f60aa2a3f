import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { rememberPuts } from '../../../core/collections/recent-puts.ts'
import { Failure } from '../../../core/failure.ts'
import type { BlobStore, ListedBlobs, StoredBlob } from '../../../ports/blobs.ts'
import { isStorableId } from './conversation-columns.ts'
import { type Database, type DatabaseOptions, openDatabase, type Queries } from './database.ts'

/** A blob is stored in parts of this size, so that a large blob is never in memory as a whole while it is streamed. */
const PART_BYTES = 256 * 1024

const missing = (sha256: string) => new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
const damaged = (sha256: string, why: string) => new Failure('blob.damaged', `blob ${sha256} ${why}`, { details: { sha256 } })

/**
 * The blobs as a transaction uses them. Blobs in the database are read and written by the connection of the transaction. If each
 * transaction needed a second connection, transactions could use up all connections of the pool and then wait for each other forever.
 */
export type BlobsWithin = (queries: Queries) => Pick<BlobStore, 'has' | 'put' | 'remove'>

const hasBlob = async ({ all }: Pick<Queries, 'all'>, sha256: string) =>
  isStorableId(sha256) && (await all('SELECT 1 FROM blobs WHERE sha256 = $1 AND part = 0', [sha256])).length > 0

async function putBlob(queries: Queries, bytes: Uint8Array) {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const content = Buffer.from(bytes)
  const touched = `UPDATE blobs SET put_at = now() WHERE sha256 = $1 AND part = 0 AND put_at < now() - interval '1 hour'`
  await queries.run(touched, [sha256]) // the time is not updated often, because an update writes the whole row
  for (let part = 0; part === 0 || part * PART_BYTES < content.length; part++) {
    if (part === 0 && (await hasBlob(queries, sha256))) break
    const piece = content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)
    await queries.run('INSERT INTO blobs (sha256, part, size, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
      sha256,
      part,
      content.length,
      piece,
    ])
  }
  return { sha256, size: bytes.length }
}

export const postgresBlobsWithin: BlobsWithin = (queries) => ({
  has: (sha256) => hasBlob(queries, sha256),
  put: (bytes) => putBlob(queries, bytes),
  async remove(sha256) {
    await queries.run('DELETE FROM blobs WHERE sha256 = $1', [sha256])
  },
})

/** Blobs in the database, for installations without a service for files. */
export function createPostgresBlobs(database: Database): ListedBlobs {
  const partsOf = async (sha256: string, from: number, to: number) =>
    isStorableId(sha256)
      ? database.all<{ part: number; size: number; bytes: Buffer }>(
          'SELECT part, size, bytes FROM blobs WHERE sha256 = $1 AND part BETWEEN $2 AND $3 ORDER BY part',
          [sha256, from, to],
        )
      : []
  return rememberPuts<ListedBlobs>({
    put: (bytes) => database.repeat((queries) => putBlob(queries, bytes)), // a blob that is put twice is stored once
    async get(sha256) {
      const parts = await partsOf(sha256, 0, 2 ** 31 - 1)
      if (parts.length === 0) throw missing(sha256)
      const bytes = Buffer.concat(parts.map((part) => part.bytes))
      if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw damaged(sha256, 'does not have the bytes of its hash')
      return Uint8Array.from(bytes)
    },
    async *stream({ sha256, size }, range) {
      const { start, end } = range ?? { start: 0, end: size }
      const [first] = await partsOf(sha256, 0, 0)
      if (!first) throw missing(sha256)
      if (first.size !== size) throw damaged(sha256, `does not have ${size} bytes`)
      const hash = createHash('sha256')
      for (let at = start; at < end; ) {
        const index = Math.floor(at / PART_BYTES)
        const [part] = await partsOf(sha256, index, index)
        if (!part) throw missing(sha256)
        const from = at - index * PART_BYTES
        const piece = Uint8Array.from(part.bytes.subarray(from, Math.min(part.bytes.length, end - index * PART_BYTES)))
        if (piece.length === 0) throw damaged(sha256, `has fewer than ${size} bytes`)
        at += piece.length
        hash.update(piece)
        if (at >= end && range === undefined && hash.digest('hex') !== sha256) throw damaged(sha256, 'does not have the bytes of its hash')
        yield piece
      }
    },
    has: (sha256) => hasBlob(database, sha256),
    remove: (sha256) => database.repeat((queries) => postgresBlobsWithin(queries).remove(sha256)),
    list: () =>
      database.all<StoredBlob>(`SELECT sha256, size, (extract(epoch FROM put_at) * 1000)::bigint AS "putAt" FROM blobs WHERE part = 0`),
    async removeIfPutBefore(sha256, before) {
      const isOld = 'EXISTS (SELECT 1 FROM blobs WHERE sha256 = $1 AND part = 0 AND put_at < to_timestamp($2::float8 / 1000))'
      return (await database.statements.run(`DELETE FROM blobs WHERE sha256 = $1 AND ${isOld}`, [sha256, before])) > 0
    },
  })
}

/** Small objects by key, such as the records of hosted files. Keys are paths such as `a/b/c`. */
export interface PostgresObjects {
  put(key: string, bytes: Uint8Array): Promise<void>
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array | undefined>
  exists(key: string): Promise<boolean>
  /** Lists the key `tree` itself and the keys below it. */
  list(tree: string): AsyncIterable<string>
  delete(key: string): Promise<void>
  deleteTree(tree: string): Promise<void>
}

const PAGE_SIZE = 500
/** SQL that selects the key $1 and the keys below it. `0` is the character after `/`, so `key < $1 || '0'` ends the range. */
const IN_TREE = `(key = $1 OR (key > $1 || '/' AND key < $1 || '0'))`

export function createPostgresObjects(database: Database): PostgresObjects {
  return {
    async put(key, bytes) {
      await database.repeat(({ run }) =>
        run('INSERT INTO objects (key, bytes) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET bytes = $2', [key, Buffer.from(bytes)]),
      )
    },
    async get(key, range) {
      const [row] = await database.all<{ bytes: Buffer }>('SELECT bytes FROM objects WHERE key = $1', [key])
      return row && Uint8Array.from(row.bytes.subarray(range?.start, range?.end))
    },
    exists: async (key) => (await database.all('SELECT 1 FROM objects WHERE key = $1', [key])).length > 0,
    async *list(tree) {
      for (let after = ''; ; ) {
        const sql = `SELECT key FROM objects WHERE ${IN_TREE} AND key > $2 ORDER BY key LIMIT ${PAGE_SIZE}`
        const page = await database.all<{ key: string }>(sql, [tree, after])
        for (const { key } of page) yield key
        const last = page.at(-1)
        if (!last) return
        after = last.key
      }
    },
    async delete(key) {
      await database.repeat(({ run }) => run('DELETE FROM objects WHERE key = $1', [key]))
    },
    async deleteTree(tree) {
      await database.repeat(({ run }) => run(`DELETE FROM objects WHERE ${IN_TREE}`, [tree]))
    },
  }
}

/**
 * How many blobs one transaction removes. Appends with blobs, also those of other tenants, wait during the transaction, so the number is
 * small.
 */
export const BLOBS_PER_STEP = 16

/** How many blobs are compared with the references in one statement. */
const BLOBS_PER_QUERY = 500

/** Waits between two transactions that remove blobs. Meanwhile appends with blobs need not wait. */
export const pauseBetweenSteps = () => sleep(20)

/** Removes blobs in a transaction that has taken the lock of blobs exclusively. Blobs outside of the database are removed at the same time. */
export async function removeBlobs(queries: Queries, blobsWithin: BlobsWithin, hashes: readonly string[]): Promise<void> {
  if (blobsWithin === postgresBlobsWithin) await queries.run('DELETE FROM blobs WHERE sha256 = ANY ($1::text[])', [hashes])
  else await whenAllEnded(hashes.map((sha256) => blobsWithin(queries).remove(sha256)))
}

/**
 * Waits until all removals have ended, even if one fails. The transaction then still has the lock of blobs. A removal that ran on without
 * the lock could remove a blob to which a new entry refers.
 */
async function whenAllEnded<T>(removals: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(removals)
  return Promise.all(removals)
}

/**
 * Finds and removes blobs to which no entry refers. `given` are the blobs of the store if they are not in the database. Servers may use the
 * store at the same time: a removal takes the lock of blobs exclusively, so appends with blobs wait for it.
 */
export async function openBlobSweep(options: DatabaseOptions, given: ListedBlobs | undefined) {
  const database = await openDatabase({ ...options, maxConnections: 2 })

  async function unreferencedIn(queries: Pick<Queries, 'all'>, blobs: readonly StoredBlob[]): Promise<readonly StoredBlob[]> {
    const hashes = blobs.map(({ sha256 }) => sha256)
    const rows = await queries.all<{ sha256: string }>('SELECT DISTINCT sha256 FROM blob_refs WHERE sha256 = ANY ($1::text[])', [hashes])
    const referenced = new Set(rows.map(({ sha256 }) => sha256))
    return blobs.filter(({ sha256 }) => !referenced.has(sha256))
  }

  return {
    blobs: given ?? createPostgresBlobs(database),

    async findUnreferenced(blobs: readonly StoredBlob[]): Promise<readonly StoredBlob[]> {
      const found: StoredBlob[] = []
      for (const some of inSteps(blobs, BLOBS_PER_QUERY)) found.push(...(await unreferencedIn(database, some)))
      return found
    },

    async removeUnreferenced(candidates: readonly StoredBlob[], remove: (sha256: string) => Promise<boolean>) {
      const removed: StoredBlob[] = []
      for (const some of inSteps(candidates, BLOBS_PER_STEP)) {
        await database.write(async (queries) => {
          await lockBlobs(queries, 'alone')
          const unreferenced = await unreferencedIn(queries, some)
          const results = await whenAllEnded(unreferenced.map(({ sha256 }) => remove(sha256)))
          removed.push(...unreferenced.filter((_, index) => results[index]))
        })
        await pauseBetweenSteps()
      }
      return removed
    },

    close: () => database.close(),
  }
}

function* inSteps<T>(items: readonly T[], size: number): Iterable<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}

/** A number that no other program is likely to use as an advisory lock. */
const BLOB_LOCK = 0x64617963

/**
 * Takes the lock of blobs until the transaction ends. Transactions that write references to blobs share it. A transaction that removes
 * blobs takes the lock exclusively. So no blob disappears between the check of an append and its commit.
 */
export async function lockBlobs(queries: Queries, mode: 'shared' | 'alone'): Promise<void> {
  await queries.run(mode === 'shared' ? 'SELECT pg_advisory_xact_lock_shared($1)' : 'SELECT pg_advisory_xact_lock($1)', [BLOB_LOCK])
}
