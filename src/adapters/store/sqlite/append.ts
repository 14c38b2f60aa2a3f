import { setImmediate as pause } from 'node:timers/promises'
import { Failure } from '../../../core/failure.ts'
import type { Change } from '../../../core/timeline/change.ts'
import { emptyTimeline } from '../../../core/timeline/timeline.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { AppendOptions, Claim, Entry } from '../../../ports/store.ts'
import { asBundleFailure, unpackBundle } from '../shared/bundles.ts'
import { checkConversationName, conversationExists, infoAfter } from '../shared/conversation-info.ts'
import { type ConversationRow, claimedRow, infoOf, lastActivityOf, withInfo } from '../shared/conversation-row.ts'
import { newBlockNumbersFast, validateChangesFast } from '../shared/validation/fast-validate.ts'
import { ensureBlobs, type PreparedAppend, prepareAppend } from '../shared/validation/prepare.ts'
import { checkNumbersUnused, importedIds, type NewBlockNumbers, startsFrame } from '../shared/validation/validate.ts'
import { type FrameContext, frameAfter, type PlacedFrame } from '../shared/visible.ts'
import type { SqliteBudgets } from './budgets.ts'
import type { Conversations } from './conversations.ts'
import type { Database } from './database.ts'
import type { JournalWriter } from './journal.ts'
import { INDEX_BATCH, type Indexer } from './journal.ts'
import type { Offers } from './offers.ts'
import type { Reader } from './read.ts'
import type { Recall } from './recall.ts'

interface AppenderParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly journal: JournalWriter
  readonly indexer: Indexer
  readonly recall: Pick<Recall, 'noteBehind'>
  readonly reader: Reader
  readonly offers: Pick<Offers, 'take'>
  readonly budgets: Pick<SqliteBudgets, 'enter'>
  readonly blobs: BlobStore
  readonly clock: Clock
  onAppended(conversationId: string, lastSeq: number, changes: readonly Change[]): void
}

const MAX_CACHED_ROWS = 256

/** Whether a change stores a message or another event. Its sender waits until it is stored. */
const isMessage = ({ type }: Change): boolean => type === 'event.accepted' || type === 'turn.opened'

/**
 * Appends changes and imports bundles. Blobs are put and frames are computed before the transaction starts, because other writers wait
 * until a transaction ends. The transaction then checks that no other append has changed the conversation meanwhile.
 */
export function createAppender(parts: AppenderParts) {
  const { database, conversations, journal, indexer, recall, reader, offers, budgets, blobs, clock, onAppended } = parts
  /**
   * Rows of the table `conversations`, as the last append of this process wrote them. With such a row, an append needs one query less. If a
   * cached row is outdated, `replaceIfUnchanged` writes nothing, and the append reads the row from the table.
   */
  const cachedRows = new Map<string, ConversationRow>()

  async function append(claim: Claim, given: readonly Change[], { takes = [], budget }: AppendOptions = {}): Promise<readonly Entry[]> {
    const { conversationId, epoch, ownerId } = claim
    const changes = validateChangesFast(given)
    const prepared = await prepareAppend(changes, blobs, () => claimedRow(claim, conversations.findCommitted(conversationId)))
    for (;;) {
      const context = changes.some(startsFrame) ? await readFrameContext(conversationId, prepared.changes) : undefined
      const numbers = newBlockNumbersFast(prepared.changes, (id) => context?.knownBlocks.get(id))
      const attempt = (row: ConversationRow) =>
        context && row.last_seq !== context.lastSeq ? undefined : writeEntries(row, prepared, numbers, context?.frame)
      const write = () => {
        const cached = cachedRows.get(conversationId)
        const isUsable = cached?.epoch === epoch && cached.owner_id === ownerId
        const fromCache = isUsable ? attempt(cached) : undefined
        const written = fromCache ?? attempt(claimedRow(claim, conversations.find(conversationId)))
        if (written && takes.length > 0) offers.take(written.row.key, takes, clock.now())
        if (written && budget) budgets.enter(written.row.key, budget)
        return written
      }
      const result = await (prepared.needed.size === 0
        ? database.writeTogether(write, prepared.changes.some(isMessage) ? 'first' : undefined)
        : database.write(async () => {
            await ensureBlobs(prepared.needed, blobs)
            return write()
          }))
      if (!result) continue // there was another append meanwhile, so the frame is outdated and is computed again
      if (cachedRows.size >= MAX_CACHED_ROWS) cachedRows.clear()
      cachedRows.set(conversationId, result.row)
      onAppended(conversationId, result.row.last_seq, prepared.changes)
      return result.entries
    }
  }

  /**
   * Writes the rows of an append and updates the row of the conversation. If the stored row of the conversation is no longer `row`, nothing
   * is written and the result is undefined.
   */
  function writeEntries(
    row: ConversationRow,
    prepared: PreparedAppend,
    numbers: NewBlockNumbers,
    frame?: PlacedFrame,
  ): { readonly row: ConversationRow; readonly entries: readonly Entry[] } | undefined {
    const { key, last_seq: last, indexed_seq: indexed } = row
    const info = infoAfter(infoOf(row), prepared.changes)
    const indexNow = frame !== undefined || info.lastSeq - indexed >= INDEX_BATCH
    const next = {
      ...withInfo(row, info),
      indexed_seq: indexNow ? info.lastSeq : indexed,
      next_block: Math.max(numbers.next, row.next_block),
    }
    const written = conversations.replaceIfUnchanged(row, next)
    if (!written) return undefined
    checkNumbersUnused(numbers, row.next_block) // if this check throws, the transaction is rolled back
    const rows = prepared.rows.map((each, n) => ({ seq: last + 1 + n, ...each }))
    journal.write(key, rows, lastActivityOf(row))
    if (frame) journal.putFrame(key, last + 1 + frame.index, frame.value)
    recall.noteBehind(key)
    if (indexNow) indexer.indexAfter(row.id, key, indexed)
    return { row: written, entries: rows.map(({ seq, change }) => ({ seq, change })) }
  }

  async function readFrameContext(conversationId: string, changes: readonly Change[]): Promise<FrameContext> {
    const knownBlocks = await reader.firstVersions(conversationId, importedIds(changes))
    const saved = await reader.loadVisible(conversationId)
    return { lastSeq: saved?.lastSeq ?? 0, frame: frameAfter(saved?.timeline ?? emptyTimeline(), changes), knownBlocks }
  }

  /**
   * Creates a conversation from a bundle, in one transaction. Other processes see all of the new conversation or nothing. Other work of
   * this process runs between the slices.
   */
  async function importBundle(bundle: unknown, as: string | undefined): Promise<{ readonly conversationId: string }> {
    const { conversationId: named, slices, bytes } = await unpackBundle(bundle)
    const conversationId = as ?? named
    checkConversationName(conversationId)
    if (conversations.findCommitted(conversationId)) throw conversationExists(conversationId)
    for (const content of bytes.values()) await blobs.put(content)
    const prepared: PreparedAppend[] = []
    for (const slice of slices) {
      prepared.push(await prepareAppend(slice, blobs, () => undefined))
      await pause()
    }
    const changes = prepared.flatMap((slice) => slice.changes)
    const { next } = asBundleFailure(() => newBlockNumbersFast(changes, () => undefined))
    const frame = frameAfter(emptyTimeline(), changes)
    await database.write(async () => {
      if (conversations.find(conversationId)) throw conversationExists(conversationId)
      await ensureBlobs(new Map([...prepared.flatMap(({ needed }) => [...needed]), ...bytes]), blobs)
      let row = conversations.create(conversationId, clock.now())
      for (const [index, slice] of prepared.entries()) {
        const isLast = index === prepared.length - 1
        // the frame belongs to the last change of the bundle, `timeline.imported`
        const frameInSlice = isLast ? { ...frame, index: slice.changes.length - 1 } : undefined
        // `lowest` is undefined, so that `writeEntries` does not check the block numbers. They were checked above, for all slices together.
        const written = writeEntries(row, slice, { lowest: undefined, next: isLast ? next : 0 }, frameInSlice)
        if (!written)
          throw new Failure('store.failed', `conversation ${conversationId} was changed during its import: import the bundle again`)
        row = written.row
        await pause()
      }
    })
    return { conversationId }
  }

  return { append, importBundle }
}
