import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import { encodeRow } from './shared/large-text.ts'
import { hasInlineBytes, referencedBlobs, storeBytes } from './shared/validate.ts'

/** Changes as they will be logged, their rows, and the blobs that must be there when they are. */
export interface PreparedAppend {
  readonly changes: readonly Change[]
  readonly rows: readonly PreparedRow[]
  /** Bytes by hash; undefined for those that somebody else put. */
  readonly needed: ReadonlyMap<string, Uint8Array | undefined>
}

interface PreparedRow {
  readonly change: Change
  readonly body: string
  readonly blobs: readonly string[]
}

/**
 * Bytes and large texts are durable in the blob store when this resolves; the rows are not written yet. `mayStore` is asked once,
 * before the first blob, so that who may not write leaves none behind.
 */
export async function prepareAppend(given: readonly Change[], blobs: BlobStore, mayStore: () => unknown): Promise<PreparedAppend> {
  if (hasInlineBytes(given)) mayStore()
  const { changes, bytes } = hasInlineBytes(given) ? await storeBytes(given, blobs) : { changes: given, bytes: noBytes }
  const texts = new Map<string, Uint8Array>()
  const rows = changes.map((change): PreparedRow => {
    const row = encodeRow(change, sha256Of)
    for (const [sha256, text] of row.texts) texts.set(sha256, text)
    return { change, body: row.body, blobs: blobsOf(change, row.texts) }
  })
  if (texts.size > 0) mayStore()
  for (const text of texts.values()) await blobs.put(text)
  const needed = new Map(rows.flatMap((row) => row.blobs.map((sha256) => [sha256, texts.get(sha256) ?? bytes.get(sha256)] as const)))
  return { changes, rows, needed }
}

/**
 * Inside the transaction that logs the rows: blobs are removed only under the same lock, so what is there now stays. Usually they all
 * are; one that was removed since it was put is put again.
 */
export async function ensureBlobs({ needed }: PreparedAppend, blobs: BlobStore): Promise<void> {
  for (const [sha256, bytes] of needed) {
    if (await blobs.has(sha256)) continue
    if (!bytes) throw new Failure('blob.missing', `a block refers to blob ${sha256}, which is not in the blob store: put it first`)
    await blobs.put(bytes)
  }
}

const noBytes: ReadonlyMap<string, Uint8Array> = new Map()
const noHashes: readonly string[] = []

function blobsOf(change: Change, texts: ReadonlyMap<string, Uint8Array>): readonly string[] {
  const bytes = referencedBlobs([change])
  if (texts.size === 0 && bytes.size === 0) return noHashes
  return [...new Set([...bytes, ...texts.keys()])]
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
