import { createHash } from 'node:crypto'
import type { RecentPuts } from '../../../../core/collections/recent-puts.ts'
import { Failure } from '../../../../core/failure.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import type { BlobStore } from '../../../../ports/blobs.ts'
import { encodeRow } from '../large-text.ts'
import { hasInlineBytes, involvesBlobs, referencedBlobs, storeInlineBytes } from './validate.ts'

/** The changes of an append, their rows, and the blobs that must exist when the rows are written. */
export interface PreparedAppend {
  readonly changes: readonly Change[]
  readonly rows: readonly PreparedRow[]
  /**
   * The bytes of each blob, by hash. The value is undefined for a blob that the caller of `append` has put before the append, if the blob
   * store does not remember its bytes.
   */
  readonly needed: ReadonlyMap<string, Uint8Array | undefined>
}

interface PreparedRow {
  readonly change: Change
  readonly body: string
  readonly blobs: readonly string[]
}

/**
 * Makes the rows of an append, and puts inline bytes and large texts into the blob store. The caller writes the rows later. `checkClaim`
 * runs before blobs are put, so that a writer that has lost its claim leaves no blobs behind.
 */
export async function prepareAppend(
  given: readonly Change[],
  blobs: BlobStore & Partial<RecentPuts>,
  checkClaim: () => unknown,
): Promise<PreparedAppend> {
  const isInline = hasInlineBytes(given)
  if (isInline) await checkClaim()
  const { changes, bytes } = isInline ? await storeInlineBytes(given, blobs) : { changes: given, bytes: new Map<string, Uint8Array>() }
  const texts = new Map<string, Uint8Array>()
  const hasReferences = involvesBlobs(changes)
  const rows = changes.map((change): PreparedRow => {
    const row = encodeRow(change, sha256Of)
    for (const [sha256, text] of row.texts) texts.set(sha256, text)
    const blobs = hasReferences || row.texts.size > 0 ? [...new Set([...referencedBlobs(change), ...row.texts.keys()])] : []
    return { change, body: row.body, blobs }
  })
  if (texts.size > 0) await checkClaim()
  for (const text of texts.values()) await blobs.put(text)
  const bytesOf = (sha256: string) => texts.get(sha256) ?? bytes.get(sha256) ?? blobs.recentlyPut?.(sha256)
  const needed = new Map(rows.flatMap((row) => row.blobs.map((sha256) => [sha256, bytesOf(sha256)] as const)))
  return { changes, rows, needed }
}

/**
 * Checks that the blobs of the rows exist. If a blob was removed since it was put, puts it again. Call it in the transaction that writes
 * the rows. Blobs are only removed under the same lock, so they can not disappear before the rows are written.
 */
export async function ensureBlobs(needed: PreparedAppend['needed'], blobs: Pick<BlobStore, 'has' | 'put'>): Promise<void> {
  // blobs are put in a fixed order, because transactions that put the same blobs in different orders could wait for each other
  for (const [sha256, bytes] of [...needed].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (await blobs.has(sha256)) continue
    // the hash differs if the caller has modified the bytes since it has put them
    if (!bytes || sha256Of(bytes) !== sha256)
      throw new Failure('blob.missing', `a block refers to blob ${sha256}, which is not in the blob store: put it first`)
    await blobs.put(bytes)
  }
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
