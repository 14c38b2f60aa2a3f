import { isDeepStrictEqual } from 'node:util'
import { type BlobRef, type Block, blobRefsOf, blockId, blockNumber, isHidden } from '../../../../core/block/index.ts'
import { Failure } from '../../../../core/failure.ts'
import { isSid } from '../../../../core/sources/source.ts'
import { blocksOfChange, type Change, changeTime } from '../../../../core/timeline/change.ts'
import { stripHidden } from '../../../../core/timeline/frame.ts'
import { parseChange } from '../../../../core/timeline/parse-change.ts'
import { parsePayload } from '../../../../core/timeline/payload.ts'
import type { BlobStore } from '../../../../ports/blobs.ts'

/**
 * Checks a change and returns it in the form that the store writes. Throws `change.invalid` or `block.invalid`. Stores call
 * `validateChangesFast`, which skips these checks for changes that would pass unchanged. `newBlockNumbers` checks that block ids are new.
 */
export function validateChange(given: Change): Change {
  const change = parseGiven(given)
  checkTimesAndNumbers(change)
  const blocks = blocksOfChange(change)
  if (blocks.length === 0) return change
  for (const block of blocks) checkBlock(block)
  return stripStaleHidingFields(change)
}

function parseGiven(given: Change): Change {
  const change = parseChange(plainJson(given))
  return change.type === 'timeline.imported' ? { ...change, timeline: parsePayload(change.timeline) } : change
}

/**
 * Checks the form of times and of SIDs. Lists and retention compare times as text, so another form would be sorted wrongly. The path
 * of a source can contain a SID of at most 15 digits.
 */
function checkTimesAndNumbers(change: Change): void {
  checkTimestamp(changeTime(change))
  for (const { ts } of blocksOfChange(change)) checkTimestamp(ts)
  if (change.type === 'turn.waiting') for (const { expires_at } of change.waits) checkTimestamp(expires_at)
  const { turn_id: turnId } = change as { readonly turn_id?: string | null } // in every change, `turn_id` is the id of a turn
  if (turnId?.isWellFormed() === false) throw invalidChange('the id of a turn must be well-formed text')
  if (change.type === 'sources.merged') {
    if (change.next_sid > MAX_SID) throw invalidChange(`next_sid must be at most ${MAX_SID}`)
    if (!change.rows.every(({ sid }) => isSid(sid) && sid <= MAX_SID)) throw invalidChange(`a sid must be from 1 to ${MAX_SID}`)
  }
}

const MAX_SID = 999_999_999_999_999

function checkTimestamp(ts: string | undefined): void {
  if (ts !== undefined && !isTimestamp(ts)) throw invalidChange(`${JSON.stringify(ts)} is not a time such as 2026-01-01T00:00:00Z`)
}

// This check runs for every block. A regular expression is ten times faster than a date parser.
const timestampPattern = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?Z$/

let latestTimestamp = '' // caches the last valid time, because most blocks of an append have the same time

export function isTimestamp(ts: string): boolean {
  if (ts === latestTimestamp) return true
  if (!timestampPattern.test(ts)) return false
  latestTimestamp = ts
  return true
}

function checkBlock({ id, base64 }: Block): void {
  if (!isBlockId(id)) throw invalidChange(`block id ${JSON.stringify(id)} is not b_<n>: number new blocks with \`assignIds\``)
  if (base64 !== undefined && Buffer.from(base64, 'base64').toString('base64') !== base64) {
    throw new Failure('block.invalid', `block ${id} has a field base64 that is not valid base64`, { details: { id } })
  }
}

/** Whether an id has exactly the form that `blockId` returns. Leading zeros are not allowed. */
export const isBlockId = (id: string): boolean => blockNumber(id) !== undefined && (id.length === 3 || id[2] !== '0')

/**
 * Removes the fields about hiding from blocks that are not hidden. If they stayed, hiding and then revealing the block would remove them,
 * and the block would differ from the stored block.
 */
function stripStaleHidingFields(change: Change): Change {
  const blocks = blocksOfChange(change)
  const isStale = (block: Block) => !isHidden(block) && stripHidden(block) !== block
  if (!blocks.some(isStale)) return change
  return withBlocks(
    change,
    blocks.map((block) => (isHidden(block) ? block : stripHidden(block))),
  )
}

/**
 * How deep lists and objects may be nested. Changes of Daybook are less than 50 levels deep. JSON parsers fail if the nesting is too deep.
 */
const maxDepth = 500

/**
 * The value that results from writing `value` as JSON and parsing the text. Usually this is `value` itself, because it is already plain
 * JSON. Because of this conversion, an append returns the same values as a later load. This is also true in the memory store, which writes
 * no JSON.
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
  throw invalidChange(`a change must be something that JSON can hold, with at most ${maxDepth} levels of nesting`)
}

/**
 * Whether a value is the same after writing it as JSON and parsing it. Most values are texts and numbers. Checking `isScalar` before each
 * recursive call saves 0.4 µs per round.
 */
export function isPlain(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return isScalar(value)
  if (depth === maxDepth) return false
  if (Array.isArray(value)) {
    // `every` would skip a hole in the list. This loop reads a hole as undefined
    for (let n = 0; n < value.length; n++) if (!isScalar(value[n]) && !isPlain(value[n], depth + 1)) return false
    return true
  }
  if (!isPlainObject(value)) return false
  for (const key in value) {
    const field = value[key]
    if (!isScalar(field) && !isPlain(field, depth + 1)) return false
  }
  return true
}

const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || value === null || isPlainNumber(value)

/** Whether a value is an object without a class, such as `{}`. An object with the prototype null is not plain. */
export const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Whether a number is the same after writing it as JSON and parsing it. */
export const isPlainNumber = (value: unknown): boolean => Number.isFinite(value) && !Object.is(value, -0)

const invalidChange = (message: string) => new Failure('change.invalid', message)

/** The block numbers that an append uses. `lowest` is undefined if the append has no blocks. `next` is the highest number plus 1. */
export interface NewBlockNumbers {
  readonly lowest: number | undefined
  readonly next: number
}

/**
 * The lowest and the next number of the new blocks in these changes. The id `b_7` has the number 7. Callers pass the result to
 * `checkNumbersUnused`. Throws `change.invalid` if the conversation already has a block with the same id. Only an import may contain such a
 * block again, and only with the same content. `known` returns the block of the conversation with an id, as it was appended.
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

/** Whether the two blocks have the same content, apart from hiding. `first` is the block as it was first appended. */
function isSameBlock(shown: Block, first: Block): boolean {
  if (isHidden(shown)) return isDeepStrictEqual(stripHidden(shown), stripHidden(first))
  return isDeepStrictEqual(shown, first) || isDeepStrictEqual(shown, stripHidden(first))
}

/** Throws `change.invalid` when a number is below `nextBlock`. Numbers ascend and are never used twice, even after a block was removed. */
export function checkNumbersUnused({ lowest }: NewBlockNumbers, nextBlock: number): void {
  if (lowest !== undefined && lowest < nextBlock) throw numberTaken(blockId(lowest))
}

/** Whether a change is a compaction or an import. A store saves a frame (core/timeline/frame.ts) with such a change. */
export const startsFrame = ({ type }: Change): boolean => type === 'range.compacted' || type === 'timeline.imported'

/** The ids of imported blocks. Only an import may repeat blocks, so only these ids have to be looked up before an append. */
export const importedIds = (changes: readonly Change[]): readonly string[] =>
  changes.flatMap((change) => (change.type === 'timeline.imported' ? blocksOfChange(change).map(({ id }) => id) : []))

const numberTaken = (id: string) =>
  new Failure('change.invalid', `the number of block ${id} was already used in this conversation: number new blocks with \`assignIds\``, {
    details: { id },
  })

const contentDiffers = (id: string) =>
  new Failure('change.invalid', `the content of block ${id} in the imported timeline differs from its content in the journal`, {
    details: { id },
  })

/** Changes in the form that the store writes. `bytes` are the contents that were moved from the changes to the blob store, by hash. */
interface StoredChanges {
  readonly changes: readonly Change[]
  readonly bytes: ReadonlyMap<string, Uint8Array>
}

/** Stores the inline bytes of blocks (`base64`) as blobs. In each block, a reference (`blob`) replaces the bytes. */
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

/** Whether a block of these changes has inline bytes. If so, call `storeInlineBytes`. */
export function hasInlineBytes(changes: readonly Change[]): boolean {
  return changes.some((change) => blocksOfChange(change).some(isInline))
}

const isInline = (block: Block) => block.base64 !== undefined

async function storeBlockBytes(block: Block, blobs: BlobStore, stored: Map<string, Uint8Array>): Promise<Block> {
  const bytes = Buffer.from(block.base64 ?? '', 'base64')
  const blob = await blobs.put(bytes)
  stored.set(blob.sha256, bytes)
  const fields = Object.entries(block).filter(([key]) => key !== 'blob')
  // the fields of `block`, with `blob` in place of `base64`
  return Object.fromEntries(fields.map(([key, value]) => (key === 'base64' ? ['blob', blob] : [key, value]))) as unknown as Block
}

/** Whether a change has inline bytes or refers to blobs. Most changes have neither bytes nor references. */
export function involvesBlobs(changes: readonly Change[]): boolean {
  for (const change of changes) {
    if (change.type === 'event.accepted' && change.event.keeps !== undefined) return true
    if (change.type === 'call.finished' && change.keeps !== undefined) return true
    if ((change.type === 'turn.opened' || change.type === 'range.compacted') && change.frozen !== undefined) return true
    for (const { base64, blob, meta } of blocksOfChange(change))
      if (base64 !== undefined || blob !== undefined || meta?.keeps !== undefined) return true
  }
  return false
}

/**
 * The hashes of the blobs that a change refers to: in its blocks, its event, its outcome, or the stored system texts of its turn
 * (`frozen`).
 */
export function referencedBlobs(change: Change): ReadonlySet<string> {
  return new Set([...keptBlobs(change), ...blocksOfChange(change).flatMap(blobRefsOf)].map(({ sha256 }) => sha256))
}

function keptBlobs(change: Change): readonly BlobRef[] {
  switch (change.type) {
    case 'event.accepted':
      return change.event.keeps ?? []
    case 'call.finished':
      return change.keeps ?? []
    case 'turn.opened':
    case 'range.compacted':
      return Object.values(change.frozen ?? {})
    default:
      return []
  }
}

/** Returns the change with `blocks` in place of its blocks. */
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
