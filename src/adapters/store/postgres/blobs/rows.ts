import { createHash } from 'node:crypto'
import type { BlobRef } from '../../../../core/block/index.ts'
import { isStorableId } from '../conversation-columns.ts'
import type { Queries } from '../database.ts'

/** A blob is stored in parts of this size, so that a large blob is never in memory as a whole while it is streamed. */
export const PART_BYTES = 256 * 1024

export const hasBlob = async ({ all }: Pick<Queries, 'all'>, sha256: string) =>
  isStorableId(sha256) && (await all('SELECT 1 FROM blobs WHERE sha256 = $1 AND part = 0', [sha256])).length > 0

/** Renews the time of a blob. The time is not updated often, because an update writes the row again. */
export const RENEW = `UPDATE blobs SET put_at = now() WHERE sha256 = $1 AND part = 0 AND put_at < now() - interval '1 hour'`

export async function putBlob(queries: Queries, bytes: Uint8Array): Promise<BlobRef> {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const content = Buffer.from(bytes)
  await queries.run(RENEW, [sha256])
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
