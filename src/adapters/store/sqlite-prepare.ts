import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import { hasBytes, referredTo, storeBytes } from './incoming.ts'
import { toRow } from './large-text.ts'

/** Changes as they will be logged, their rows, and the blobs that must be there when they are. */
export interface Prepared {
  readonly changes: readonly Change[]
  readonly rows: readonly { readonly body: string; readonly blobs: readonly string[] }[]
  /** Bytes by hash; undefined for those that somebody else put. */
  readonly needed: ReadonlyMap<string, Uint8Array | undefined>
}

/** Bytes and large texts are durable in the blob store when this resolves; the rows are not written yet. */
export async function prepare(changes: readonly Change[], blobs: BlobStore): Promise<Prepared> {
  const incoming = hasBytes(changes) ? await storeBytes(changes, blobs) : { changes, bytes: new Map<string, Uint8Array>() }
  const needed = new Map<string, Uint8Array | undefined>()
  const rows = incoming.changes.map((change) => {
    const { body, texts } = toRow(change, sha256Of)
    const referred = referredTo([change])
    for (const sha256 of referred) needed.set(sha256, needed.get(sha256) ?? incoming.bytes.get(sha256))
    for (const [sha256, bytes] of texts) needed.set(sha256, bytes)
    return { body, blobs: [...new Set([...referred, ...texts.keys()])], texts }
  })
  for (const bytes of new Map(rows.flatMap(({ texts }) => [...texts])).values()) await blobs.put(bytes)
  return { changes: incoming.changes, rows, needed }
}

/**
 * Inside the transaction that logs the rows: blobs are removed only under the same lock, so what is there now stays. Usually they all
 * are; one that was removed since it was put is put again.
 */
export async function ensureBlobs({ needed }: Prepared, blobs: BlobStore): Promise<void> {
  for (const [sha256, bytes] of needed) {
    if (await blobs.has(sha256)) continue
    if (!bytes) throw new Failure('blob.missing', `a block refers to blob ${sha256}, which is not in the blob store: put it first`)
    await blobs.put(bytes)
  }
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
