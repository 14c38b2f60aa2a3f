import { isDeepStrictEqual } from 'node:util'
import { type Block, blobRefsOf, blockId, blockNumber, isHidden } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { isSid } from '../../../core/sources/source.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import { stripHidden } from '../../../core/timeline/frame.ts'
import { parseChange } from '../../../core/timeline/parse-change.ts'
import { parsePayload } from '../../../core/timeline/payload.ts'
import type { BlobStore } from '../../../ports/blobs.ts'

/**
 * Returns the change as the store writes it. Throws `change.invalid` or `block.invalid`. Stores call `validateChangesFast`, which skips
 * these checks where they would return the change unchanged. Whether block ids are new is checked by `newBlockNumbers`.
 */
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

/** Lists and retention compare times as text, and a source selector has at most 15 digits. Other values could not be found again. */
function checkTimesAndNumbers(change: Change): void {
  checkTimestamp(changeTime(change))
  for (const { ts } of blocksOfChange(change)) checkTimestamp(ts)
  const { turn_id: turnId } = change as { readonly turn_id?: string | null } // it is a turn's id wherever it occurs
  if (turnId?.isWellFormed() === false) throw invalidChange('a turn needs a name of well-formed text')
  if (change.type === 'sources.merged') {
    if (change.next_sid > MAX_SID) throw invalidChange('next_sid is beyond what a selector can name')
    if (!change.rows.every(({ sid }) => isSid(sid) && sid <= MAX_SID)) throw invalidChange('a source needs a positive sid')
  }
}

const MAX_SID = 999_999_999_999_999

function checkTimestamp(ts: string | undefined): void {
  if (ts !== undefined && !isTimestamp(ts)) throw invalidChange(`${JSON.stringify(ts)} is not a time such as 2026-01-01T00:00:00Z`)
}

// A pattern is ten times faster than a date parser. It runs for every block.
const timestampPattern = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?Z$/

let latestTimestamp = '' // most blocks of an append have the same time

export function isTimestamp(ts: string): boolean {
  if (ts === latestTimestamp) return true
  if (!timestampPattern.test(ts)) return false
  latestTimestamp = ts
  return true
}

function checkBlock({ id, base64 }: Block): void {
  if (!isBlockId(id)) throw invalidChange(`block id ${JSON.stringify(id)} is not b_<n>: number new blocks with \`assignIds\``)
  if (base64 !== undefined && Buffer.from(base64, 'base64').toString('base64') !== base64) {
    throw new Failure('block.invalid', `block ${id} holds text in base64 that is not base64`, { details: { id } })
  }
}

/** Whether an id has the form that `blockId` writes, without leading zeros. */
export const isBlockId = (id: string): boolean => blockNumber(id) !== undefined && (id.length === 3 || id[2] !== '0')

/** Removes hiding fields from blocks that are not hidden. Otherwise hiding and revealing such a block would not restore it exactly. */
function stripStaleHidingFields(change: Change): Change {
  const blocks = blocksOfChange(change)
  const isStale = (block: Block) => !isHidden(block) && stripHidden(block) !== block
  if (!blocks.some(isStale)) return change
  return withBlocks(
    change,
    blocks.map((block) => (isHidden(block) ? block : stripHidden(block))),
  )
}

/** How deep lists and objects may be nested. Real changes are less than 50 deep, and JSON parsers fail at some depth. */
const maxDepth = 500

/**
 * The value as it would be after writing it as JSON and parsing it. It is the same object if nothing would change, which is usual. With it
 * an append returns the same values as a later load, and the memory store behaves like a store on disk.
 */
export function plainJson(value: unknown): unknown {
  try {
    if (isPlain(value)) return value
    const copy: unknown = JSON.parse(JSON.stringify(value) ?? 'null')
    if (isPlain(copy)) return copy
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw new Failure('change.invalid', `a change must be something that JSON can hold: ${error.message}`, { cause: error })
  }
  throw invalidChange(`a change must be something that JSON can hold: at most ${maxDepth} levels`)
}

function isPlain(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return isPlainNumber(value)
    case 'object':
      if (value === null) return true
      if (depth === maxDepth) return false
      return Array.isArray(value) ? isPlainList(value, depth + 1) : isPlainObject(value) && hasPlainFields(value, depth + 1)
    default:
      return false
  }
}

function hasPlainFields(object: { readonly [key: string]: unknown }, depth: number): boolean {
  for (const key in object) if (!isPlain(object[key], depth)) return false
  return true
}

function isPlainList(list: readonly unknown[], depth: number): boolean {
  for (let n = 0; n < list.length; n++) if (!isPlain(list[n], depth)) return false // a hole is read as undefined and rejected
  return true
}

/** Whether a value is a plain object, without a class or a null prototype. */
export const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Whether a number is the same after writing it as JSON and parsing it. */
export const isPlainNumber = (value: unknown): boolean => Number.isFinite(value) && !Object.is(value, -0)

const invalidChange = (message: string) => new Failure('change.invalid', message)

/** The block numbers that an append uses. `lowest` is undefined without blocks; `next` is one more than the highest. */
export interface NewBlockNumbers {
  readonly lowest: number | undefined
  readonly next: number
}

/**
 * The numbers of the new blocks in these changes. Throws `change.invalid` when the conversation or an earlier change already has a block
 * with the same id. Only an import may repeat a block, and only with the same content. `known` finds the first version of a block that the
 * conversation already has. Callers pass the result to `checkNumbersUnused`.
 */
export function newBlockNumbers(changes: readonly Change[], known: (id: string) => Block | undefined): NewBlockNumbers {
  const entered = new Map<string, Block>()
  for (const change of changes) {
    for (const block of newBlocksIn(change, (id) => known(id) ?? entered.get(id))) entered.set(block.id, block)
  }
  const numbers = [...entered.keys()].map((id) => blockNumber(id) ?? 0).sort((a, b) => a - b)
  return { lowest: numbers[0], next: (numbers.at(-1) ?? -1) + 1 }
}

function newBlocksIn(change: Change, known: (id: string) => Block | undefined): readonly Block[] {
  const added = new Map<string, Block>()
  for (const block of blocksOfChange(change)) {
    const first = known(block.id)
    if (added.has(block.id) || (first && change.type !== 'timeline.imported')) throw numberTaken(block.id)
    if (!first) added.set(block.id, block)
    else if (!isSameBlock(block, first)) throw contentDiffers(block.id)
  }
  return [...added.values()]
}

/** Whether two versions of a block have the same content. One of them may be hidden. */
function isSameBlock(shown: Block, first: Block): boolean {
  if (isHidden(shown)) return isDeepStrictEqual(stripHidden(shown), stripHidden(first))
  return isDeepStrictEqual(shown, first) || isDeepStrictEqual(shown, stripHidden(first))
}

/** Throws `change.invalid` when a number is below `nextBlock`. Numbers ascend and are never reused, also after a block was removed. */
export function checkNumbersUnused({ lowest }: NewBlockNumbers, nextBlock: number): void {
  if (lowest !== undefined && lowest < nextBlock) throw numberTaken(blockId(lowest))
}

/** Whether a change is a compaction or an import. A store saves a frame (core/timeline/frame.ts) there. Loading starts at the latest. */
export const startsFrame = ({ type }: Change): boolean => type === 'range.compacted' || type === 'timeline.imported'

/** The ids of imported blocks. Only these may already exist, so that a store must look them up before it writes the changes. */
export const importedIds = (changes: readonly Change[]): readonly string[] =>
  changes.flatMap((change) => (change.type === 'timeline.imported' ? blocksOfChange(change).map(({ id }) => id) : []))

const numberTaken = (id: string) =>
  new Failure('change.invalid', `the number of block ${id} was already given in this conversation: number new blocks with \`assignIds\``, {
    details: { id },
  })

const contentDiffers = (id: string) =>
  new Failure('change.invalid', `the imported timeline shows block ${id} with another content than the history`, { details: { id } })

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
