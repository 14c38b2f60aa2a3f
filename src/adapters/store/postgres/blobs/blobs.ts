import { createHash } from 'node:crypto'
import { limitedPieces } from '../../../../core/collections/byte-pieces.ts'
import { rememberPuts } from '../../../../core/collections/recent-puts.ts'
import { Failure } from '../../../../core/failure.ts'
import type { BlobStore, ListedBlobs, StoredBlob, StreamingBlobs } from '../../../../ports/blobs.ts'
import { isStorableId } from '../conversation-columns.ts'
import type { Database, Queries } from '../database.ts'
import { hasBlob, PART_BYTES, putBlob } from './rows.ts'
import { DRAFT, putStream, removeDrafts } from './stream.ts'

const missing = (sha256: string) => new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
const damaged = (sha256: string, why: string) => new Failure('blob.damaged', `blob ${sha256} ${why}`, { details: { sha256 } })

/**
 * The blobs as a transaction uses them. Blobs in the database are read and written by the connection of the transaction. If each
 * transaction needed a second connection, transactions could use up all connections of the pool and then wait for each other forever.
 */
export type BlobsWithin = (queries: Queries) => Pick<BlobStore, 'has' | 'put' | 'remove'>

export const postgresBlobsWithin: BlobsWithin = (queries) => ({
  has: (sha256) => hasBlob(queries, sha256),
  put: (bytes) => putBlob(queries, bytes),
  async remove(sha256) {
    await queries.run('DELETE FROM blobs WHERE sha256 = $1', [sha256])
  },
})

/** Blobs in the database, for installations without a service for files. */
export function createPostgresBlobs(database: Database): StreamingBlobs<ListedBlobs> {
  const partsOf = async (sha256: string, from: number, to: number) =>
    isStorableId(sha256)
      ? database.all<{ part: number; size: number; bytes: Buffer }>(
          'SELECT part, size, bytes FROM blobs WHERE sha256 = $1 AND part BETWEEN $2 AND $3 ORDER BY part',
          [sha256, from, to],
        )
      : []
  return rememberPuts<StreamingBlobs<ListedBlobs>>({
    put: (bytes) => database.repeat((queries) => putBlob(queries, bytes)), // a blob that is put twice is stored once
    putStream: (pieces, { maxBytes } = {}) => putStream(database, limitedPieces(pieces, maxBytes)),
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
      database.all<StoredBlob>(
        `SELECT sha256, size, (extract(epoch FROM put_at) * 1000)::bigint AS "putAt" FROM blobs
         WHERE part = 0 AND sha256 NOT LIKE '${DRAFT}%'`,
      ),
    removeUnfinished: (before) => removeDrafts(database, before),
    async removeIfPutBefore(sha256, before) {
      const isOld = 'EXISTS (SELECT 1 FROM blobs WHERE sha256 = $1 AND part = 0 AND put_at < to_timestamp($2::float8 / 1000))'
      return (await database.statements.run(`DELETE FROM blobs WHERE sha256 = $1 AND ${isOld}`, [sha256, before])) > 0
    },
  })
}
