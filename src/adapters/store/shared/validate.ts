import { type Block, bytesOf, isHidden } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { stripHidden } from '../../../core/timeline/frame.ts'
import { parseChange } from '../../../core/timeline/parse-change.ts'
import { parsePayload } from '../../../core/timeline/payload.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import { isPlainResponse, isPlainTextAppend } from './fast-validate.ts'
import { checkTimesAndNumbers, isBlockId, plainJson } from './plain-json.ts'

/** Changes as they will be logged, and the bytes that came with them, by hash. */
export interface StoredChanges {
  readonly changes: readonly Change[]
  readonly bytes: ReadonlyMap<string, Uint8Array>
}

/** What is wrong is refused here, before anything is written. Whether an id is new only the store knows. */
export const validateChanges = (changes: readonly Change[]): readonly Change[] => changes.map(validateQuickly)

/** Bytes go to the blob store, a reference stays. Needed only when `hasBytes`. */
export async function storeBytes(changes: readonly Change[], blobs: BlobStore): Promise<StoredChanges> {
  const stored = new Map<string, Uint8Array>()
  const logged: Change[] = []
  for (const change of changes) {
    if (!blocksOfChange(change).some(isInline)) logged.push(change)
    else {
      const blocks: Block[] = []
      for (const block of blocksOfChange(change)) blocks.push(isInline(block) ? await storeBlockBytes(block, blobs, stored) : block)
      logged.push(withBlocks(change, blocks))
    }
  }
  return { changes: logged, bytes: stored }
}

export function hasInlineBytes(changes: readonly Change[]): boolean {
  for (const change of changes) for (const block of blocksOfChange(change)) if (isInline(block)) return true
  return false
}

/** Whether anything brings bytes along or refers to some. Asked of every append. */
export function involvesBlobs(changes: readonly Change[]): boolean {
  for (const change of changes) {
    if (change.type === 'event.accepted' && change.event.keeps !== undefined) return true
    for (const { base64, blob, meta } of blocksOfChange(change))
      if (base64 !== undefined || blob !== undefined || meta?.keeps !== undefined) return true
  }
  return false
}

/** Hashes of the bytes that blocks and events refer to. */
export function referencedBlobs(changes: readonly Change[]): ReadonlySet<string> {
  let found: Set<string> | undefined
  for (const change of changes) {
    if (change.type === 'event.accepted') for (const { sha256 } of change.event.keeps ?? []) found = (found ?? new Set()).add(sha256)
    for (const block of blocksOfChange(change)) for (const { sha256 } of bytesOf(block)) found = (found ?? new Set()).add(sha256)
  }
  return found ?? noHashes
}

const noHashes: ReadonlySet<string> = new Set()

const isInline = (block: Block) => block.base64 !== undefined

function validateQuickly(given: Change): Change {
  return isPlainTextAppend(given) || isPlainResponse(given) ? given : validateChange(given)
}

/** Any change, rule by rule. What is entered in every round gets past them in one walk: it would come out of here as it is. */
export function validateChange(given: Change): Change {
  const change = parseGiven(given)
  checkTimesAndNumbers(change)
  for (const block of blocksOfChange(change)) checkBlock(block)
  return stripStaleHidingFields(change)
}

function parseGiven(given: Change): Change {
  const change = parseChange(plainJson(given))
  return change.type === 'timeline.imported' ? { ...change, timeline: parsePayload(change.timeline) } : change
}

/** Only what is hidden says so: then revealing gives back what was entered. */
function stripStaleHidingFields(change: Change): Change {
  const blocks = blocksOfChange(change)
  const speaks = (block: Block) => !isHidden(block) && stripHidden(block) !== block
  return blocks.some(speaks)
    ? withBlocks(
        change,
        blocks.map((block) => (isHidden(block) ? block : stripHidden(block))),
      )
    : change
}

function checkBlock({ id, base64 }: Block): void {
  if (!isBlockId(id)) throw new Failure('change.invalid', `block id ${JSON.stringify(id)} is not b_<n>: number new blocks with \`enter\``)
  if (base64 !== undefined && Buffer.from(base64, 'base64').toString('base64') !== base64) {
    throw new Failure('block.invalid', `block ${id} holds text in base64 that is not base64`, { details: { id } })
  }
}

async function storeBlockBytes(block: Block, blobs: BlobStore, stored: Map<string, Uint8Array>): Promise<Block> {
  const bytes = Buffer.from(block.base64 ?? '', 'base64')
  const blob = await blobs.put(bytes)
  stored.set(blob.sha256, bytes)
  const fields = Object.entries(block).filter(([key]) => key !== 'blob')
  return Object.fromEntries(fields.map(([key, held]) => (key === 'base64' ? ['blob', blob] : [key, held]))) as unknown as Block // the same block, one field renamed
}

function withBlocks(change: Change, blocks: readonly Block[]): Change {
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
