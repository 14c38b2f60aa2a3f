import { createHash } from 'node:crypto'
import type { Block } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import type { Change } from '../../../core/timeline/change.ts'
import { type Frame, frameOf } from '../../../core/timeline/frame.ts'
import { emptyTimeline, type Timeline } from '../../../core/timeline/timeline.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Claim, Entry } from '../../../ports/store.ts'
import { checkNumbersUnused, importedIds, type NewBlockNumbers, newBlockNumbers, startsFrame } from '../shared/block-ids.ts'
import { asBundleFailure, unpackBundle } from '../shared/bundles.ts'
import { checkConversationName, conversationExists, infoAfter } from '../shared/conversation-list.ts'
import { encodeRow } from '../shared/large-text.ts'
import { hasInlineBytes, referencedBlobs, storeBytes, validateChanges } from '../shared/validate.ts'
import { type ConversationRow, type Conversations, heldRow, infoOf, withInfo } from './conversations.ts'
import type { Database } from './database.ts'
import { INDEX_BATCH, type Indexer } from './index-entries.ts'
import type { Loader } from './read.ts'
import type { JournalWriter } from './rows.ts'

/** What an append with a compaction or an import needs to know of what is there. */
interface FrameContext {
  readonly lastSeq: number
  readonly frame: PlacedFrame
  readonly knownBlocks: ReadonlyMap<string, Block>
}

/** A frame and the change, counted from the first of the append, that it stands beside. */
interface PlacedFrame {
  readonly index: number
  readonly value: Frame
}

interface AppendResult {
  readonly row: ConversationRow
  readonly entries: readonly Entry[]
}

const MAX_CACHED_ROWS = 256

interface AppenderParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly journal: JournalWriter
  readonly indexer: Indexer
  readonly loader: Loader
  readonly blobs: BlobStore
}

export function createAppender({ database, conversations, journal, indexer, loader, blobs }: AppenderParts) {
  /** Conversations as our last append left them. Only a guess until `advance` has agreed, and then a look-up saved. */
  const remembered = new Map<string, ConversationRow>()

  /** Everything slow comes first; the transaction checks that it still holds. */
  async function append(claim: Claim, given: readonly Change[]): Promise<readonly Entry[]> {
    const { conversationId, epoch, ownerId } = claim
    const changes = validateChanges(given)
    const prepared = await prepareAppend(changes, blobs, () => heldRow(claim, conversations.peek(conversationId)))
    for (;;) {
      const ground = changes.some(startsFrame) ? await survey(conversationId, prepared.changes) : undefined
      const births = newBlockNumbers(prepared.changes, (id) => ground?.knownBlocks.get(id))
      const attempt = (row: ConversationRow) =>
        ground && row.last_seq !== ground.lastSeq ? undefined : log(row, prepared, births, ground?.frame) // or another append of ours came first
      const logged = await database.write(async () => {
        if (prepared.needed.size > 0) await ensureBlobs(prepared, blobs)
        const guess = remembered.get(conversationId)
        const guessed = guess?.epoch === epoch && guess.owner_id === ownerId ? attempt(guess) : undefined
        return guessed ?? attempt(heldRow(claim, conversations.find(conversationId)))
      })
      if (!logged) continue
      if (remembered.size >= MAX_CACHED_ROWS) remembered.clear()
      remembered.set(conversationId, logged.row)
      return logged.entries
    }
  }

  /** Undefined, and nothing is written, when the conversation is no longer what `row` says. */
  function log(row: ConversationRow, prepared: PreparedAppend, births: NewBlockNumbers, frame?: PlacedFrame): AppendResult | undefined {
    const { key, last_seq: last, indexed_seq: indexed } = row
    const head = infoAfter(infoOf(row), prepared.changes)
    const indexNow = frame !== undefined || head.lastSeq - indexed >= INDEX_BATCH
    const numbers = { indexed_seq: indexNow ? head.lastSeq : indexed, next_block: Math.max(births.next, row.next_block) }
    const next = { ...withInfo(row, head), ...numbers }
    if (!conversations.advance(row, next)) return undefined
    checkNumbersUnused(births, row.next_block)
    const rows = prepared.rows.map((prepared, n) => ({ seq: last + 1 + n, ...prepared }))
    journal.write(key, rows, row.last_activity_at)
    if (frame) journal.putFrame(key, last + 1 + frame.index, frame.value)
    if (indexNow) indexer.enterBeyond(row.id, key, indexed)
    return { row: next, entries: rows.map(({ seq, change }) => ({ seq, change })) }
  }

  async function survey(conversationId: string, changes: readonly Change[]): Promise<FrameContext> {
    const entered = await loader.enteredBlocks(conversationId, importedIds(changes))
    const saved = await loader.loadVisible(conversationId)
    return { lastSeq: saved?.lastSeq ?? 0, frame: frameAfter(saved?.timeline ?? emptyTimeline(), changes), knownBlocks: entered }
  }

  /** Into a new conversation; until the transaction there is nothing to see of it. */
  async function importBundle(bundle: unknown, as: string | undefined): Promise<{ readonly conversationId: string }> {
    const { conversationId: named, changes, bytes } = unpackBundle(bundle)
    const conversationId = as ?? named
    checkConversationName(conversationId)
    if (conversations.peek(conversationId)) throw conversationExists(conversationId)
    for (const content of bytes.values()) await blobs.put(content)
    const inline = await prepareAppend(changes, blobs, () => undefined)
    const prepared = { ...inline, needed: new Map([...inline.needed, ...bytes]) }
    const births = asBundleFailure(() => newBlockNumbers(prepared.changes, () => undefined))
    await database.write(async () => {
      if (conversations.find(conversationId)) throw conversationExists(conversationId)
      await ensureBlobs(prepared, blobs)
      log(conversations.create(conversationId), prepared, births, frameAfter(emptyTimeline(), prepared.changes))
    })
    return { conversationId }
  }

  return { append, importBundle }
}

/** The frame beside the last compaction among the changes. */
function frameAfter(timeline: Timeline, changes: readonly Change[]): PlacedFrame {
  const index = changes.findLastIndex(startsFrame)
  return { index, value: frameOf(changes.slice(0, index + 1).reduce(applyChange, timeline)) }
}

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
