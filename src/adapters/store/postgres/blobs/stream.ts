import { createHash, randomUUID } from 'node:crypto'
import type { BlobRef } from '../../../../core/block/index.ts'
import { piecesOfLength } from '../../../../core/collections/byte-pieces.ts'
import { Failure } from '../../../../core/failure.ts'
import { type Database, type Queries, whileLost } from '../database.ts'
import { hasBlob, PART_BYTES, putBlob, RENEW } from './rows.ts'

/**
 * The parts of a stream are stored under a key that begins with this text, because the hash is known only at the end. Such a key is never
 * the name of a blob. At the end, one transaction gives the parts their hash. It does not write their bytes again.
 */
export const DRAFT = 'draft:'

/**
 * Stores one part of a draft. The commit need not be synced to the disk, because the commit that ends the draft is. It syncs everything
 * before it.
 */
const PUT_PART = `INSERT INTO blobs (sha256, part, size, bytes)
  SELECT $1, $2, 0, $3 WHERE set_config('synchronous_commit', 'off', true) = 'off' ON CONFLICT DO NOTHING`

/** No connection is used while the stream waits for its next piece. */
export async function putStream(database: Database, pieces: AsyncIterable<Uint8Array>): Promise<BlobRef> {
  const draft = `${DRAFT}${randomUUID()}`
  const removeDraft = ({ run }: Queries) => run('DELETE FROM blobs WHERE sha256 = $1', [draft])
  const hash = createHash('sha256')
  let [size, parts] = [0, 0]
  try {
    for await (const piece of piecesOfLength(pieces, PART_BYTES)) {
      hash.update(piece)
      size += piece.length
      const values = [draft, parts, Buffer.from(piece.buffer, piece.byteOffset, piece.length)]
      await whileLost(() => database.statements.run(PUT_PART, values))
      parts++
    }
    if (parts === 0) return await database.repeat((queries) => putBlob(queries, new Uint8Array()))
    const blob = { sha256: hash.digest('hex'), size }
    const finish = (queries: Queries) => finishDraft(queries, draft, parts, blob)
    // if another process has stored the same bytes at the same moment, the second attempt finds them
    await database.repeat(finish).catch((error: unknown) => (isDuplicate(error) ? database.repeat(finish) : Promise.reject(error)))
    return blob
  } catch (error) {
    await database.repeat(removeDraft).catch(() => {}) // the caller needs the first error, and `removeUnfinished` removes the parts later
    throw error
  }
}

async function finishDraft(queries: Queries, draft: string, parts: number, { sha256, size }: BlobRef): Promise<void> {
  await queries.run(RENEW, [sha256])
  if (await hasBlob(queries, sha256)) return void (await queries.run('DELETE FROM blobs WHERE sha256 = $1', [draft]))
  const renamed = await queries.run('UPDATE blobs SET sha256 = $1, size = $2, put_at = now() WHERE sha256 = $3', [sha256, size, draft])
  // a crash of the server loses parts whose commit was not synced
  if (renamed !== parts) throw new Failure('store.failed', 'a part of the content was lost while it was stored: store it again')
}

const UNIQUE_VIOLATION = '23505'
const isDuplicate = (error: unknown) =>
  error instanceof Failure && (error.cause as { readonly code?: string } | undefined)?.code === UNIQUE_VIOLATION

/** Removes the drafts to which no part was added since `before`. A process that was killed leaves its draft. */
export async function removeDrafts(database: Pick<Database, 'repeat'>, before: number): Promise<void> {
  const old = `SELECT sha256 FROM blobs WHERE sha256 LIKE '${DRAFT}%' GROUP BY sha256 HAVING max(put_at) < to_timestamp($1::float8 / 1000)`
  await database.repeat(({ run }) => run(`DELETE FROM blobs WHERE sha256 IN (${old})`, [before]))
}
