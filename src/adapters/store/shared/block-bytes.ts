import { type Block, blobRefsOf } from '../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'

/** Changes as the store writes them. `bytes` are the bytes that were moved to the blob store, by hash. */
interface StoredChanges {
  readonly changes: readonly Change[]
  readonly bytes: ReadonlyMap<string, Uint8Array>
}

/** Moves inline bytes of blocks (`base64`) to the blob store and leaves a reference (`blob`) in each block. */
export async function storeInlineBytes(changes: readonly Change[], blobs: BlobStore): Promise<StoredChanges> {
  const bytes = new Map<string, Uint8Array>()
  const stored: Change[] = []
  for (const change of changes) {
    if (hasInlineBytes([change])) {
      const blocks: Block[] = []
      for (const block of blocksOfChange(change)) blocks.push(isInline(block) ? await storeBlockBytes(block, blobs, bytes) : block)
      stored.push(withBlocks(change, blocks))
    } else stored.push(change)
  }
  return { changes: stored, bytes }
}

/** Whether a block has inline bytes. Then `storeInlineBytes` is needed. */
export function hasInlineBytes(changes: readonly Change[]): boolean {
  return changes.some((change) => blocksOfChange(change).some(isInline))
}

const isInline = (block: Block) => block.base64 !== undefined

async function storeBlockBytes(block: Block, blobs: BlobStore, stored: Map<string, Uint8Array>): Promise<Block> {
  const bytes = Buffer.from(block.base64 ?? '', 'base64')
  const blob = await blobs.put(bytes)
  stored.set(blob.sha256, bytes)
  const fields = Object.entries(block).filter(([key]) => key !== 'blob')
  return Object.fromEntries(fields.map(([key, value]) => (key === 'base64' ? ['blob', blob] : [key, value]))) as unknown as Block // `base64` became `blob`
}

/** Whether a change has inline bytes or refers to blobs. Most changes do neither. */
export function involvesBlobs(changes: readonly Change[]): boolean {
  for (const change of changes) {
    if (change.type === 'event.accepted' && change.event.keeps !== undefined) return true
    for (const { base64, blob, meta } of blocksOfChange(change))
      if (base64 !== undefined || blob !== undefined || meta?.keeps !== undefined) return true
  }
  return false
}

/** The hashes of the blobs that the blocks or the event of a change refer to. */
export function referencedBlobs(change: Change): ReadonlySet<string> {
  const ofEvent = change.type === 'event.accepted' ? (change.event.keeps ?? []) : []
  return new Set([...ofEvent, ...blocksOfChange(change).flatMap(blobRefsOf)].map(({ sha256 }) => sha256))
}

/** The change with these blocks in place of its own. */
export function withBlocks(change: Change, blocks: readonly Block[]): Change {
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return { ...change, blocks }
    case 'timeline.imported':
      return { ...change, timeline: { ...change.timeline, blocks } }
    default:
      return change
  }
}
