import { setImmediate as pause } from 'node:timers/promises'
import type { Change } from '../../../../core/timeline/change.ts'
import { emptyTimeline } from '../../../../core/timeline/timeline.ts'
import type { BlobStore } from '../../../../ports/blobs.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { AppendOptions, Claim, Entry } from '../../../../ports/store.ts'
import { asBundleFailure, unpackBundle } from '../../shared/bundles.ts'
import { checkConversationName, conversationExists, infoAfter } from '../../shared/conversation-info.ts'
import { type ConversationRow, claimedRow, infoOf, withInfo } from '../../shared/conversation-row.ts'
import { newBlockNumbersFast, validateChangesFast } from '../../shared/validation/fast-validate.ts'
import { ensureBlobs, type PreparedAppend, prepareAppend } from '../../shared/validation/prepare.ts'
import { checkNumbersUnused, importedIds, type NewBlockNumbers, startsFrame } from '../../shared/validation/validate.ts'
import { type FrameContext, frameAfter, type PlacedFrame } from '../../shared/visible.ts'
import type { BlobsWithin } from '../blobs/blobs.ts'
import { lockBlobs } from '../blobs/removal.ts'
import type { PostgresBudgets } from '../budgets.ts'
import type { Conversations } from '../conversations.ts'
import { type Database, type Queries, whileLost } from '../database.ts'
import type { Offers } from '../offers.ts'
import type { JournalRow } from './entries-statement.ts'
import { indexAfter, MAX_UNINDEXED, putFrame, writeEntries } from './journal.ts'
import type { Reader } from './read.ts'

interface AppenderParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly reader: Reader
  readonly offers: Pick<Offers, 'take'>
  readonly budgets: Pick<PostgresBudgets, 'enter'>
  readonly blobs: BlobStore
  readonly blobsWithin: BlobsWithin
  readonly clock: Clock
  onAppended(conversationId: string, lastSeq: number, changes: readonly Change[]): void
}

/** Appends changes and imports bundles. Most appends are one statement: it checks the claim and writes all rows, or none. */
export function createAppender(parts: AppenderParts) {
  const { database, conversations, reader, offers, budgets, blobs, blobsWithin, clock, onAppended } = parts
  const { rows: cachedRows } = conversations

  async function append(claim: Claim, given: readonly Change[], { takes = [], budget }: AppendOptions = {}): Promise<readonly Entry[]> {
    const { conversationId, epoch, ownerId } = claim
    const changes = validateChangesFast(given)
    const prepared = await prepareAppend(changes, blobs, async () => claimedRow(claim, await conversations.findCommitted(conversationId)))
    for (;;) {
      const context = changes.some(startsFrame) ? await readFrameContext(conversationId, prepared.changes) : undefined
      const numbers = newBlockNumbersFast(prepared.changes, (id) => context?.knownBlocks.get(id))
      const cached = cachedRows.get(conversationId)
      const row =
        cached?.epoch === epoch && cached.owner_id === ownerId
          ? cached
          : claimedRow(claim, await conversations.findCommitted(conversationId))
      cachedRows.delete(conversationId)
      if (context && row.last_seq !== context.lastSeq) continue // there was another append meanwhile, so the row is read again
      const written = await write(row, { prepared, numbers, frame: context?.frame, takes, budget })
      if (!written) continue // the row was outdated, so it is read again
      cachedRows.set(written.next)
      onAppended(conversationId, written.next.last_seq, prepared.changes)
      return written.rows.map(({ seq, change }) => ({ seq, change }))
    }
  }

  interface Content {
    readonly prepared: PreparedAppend
    readonly numbers: NewBlockNumbers
    readonly frame?: PlacedFrame | undefined
    readonly takes: NonNullable<AppendOptions['takes']>
    readonly budget: AppendOptions['budget'] | undefined
  }

  /** Writes an append. Returns undefined, and writes nothing, if the stored row is no longer `row`. */
  async function write(row: ConversationRow, content: Content) {
    const { prepared, numbers, frame, takes, budget } = content
    const info = infoAfter(infoOf(row), prepared.changes)
    const indexNow = frame !== undefined || info.lastSeq - row.indexed_seq >= MAX_UNINDEXED
    const next: ConversationRow = {
      ...withInfo(row, info),
      indexed_seq: indexNow ? info.lastSeq : row.indexed_seq,
      next_block: Math.max(numbers.next, row.next_block),
    }
    const rows = prepared.rows.map((each, index): JournalRow => ({ seq: row.last_seq + 1 + index, ...each }))
    const isOneStatement = !indexNow && takes.length === 0 && !budget && prepared.needed.size === 0
    const attempt = () =>
      isOneStatement
        ? writeRows(database.statements, row, next, rows, numbers)
        : database.write(async (queries) => {
            if (prepared.needed.size > 0) {
              await lockBlobs(queries, 'shared')
              await ensureBlobs(prepared.needed, blobsWithin(queries))
            }
            const written = await writeRows(queries, row, next, rows, numbers)
            if (!written) return undefined
            if (frame) await putFrame(queries, row.key, row.last_seq + 1 + frame.index, frame.value)
            if (indexNow) await indexAfter(queries, row.id, row.key, row.indexed_seq)
            if (takes.length > 0) await offers.take(queries, row.key, takes, clock.now())
            // budgets come last, because other conversations wait for the locked rows of these budgets
            if (budget) await budgets.enter(queries, row.key, budget)
            return written
          })
    // After a lost connection, the append may have been committed although its answer did not arrive. In this case the journal contains the
    // rows.
    const onLost = async () => (rows.length > 0 && (await isWritten(row, rows)) ? conversations.findCommitted(row.id) : undefined)
    const written = await whileLost(attempt, onLost)
    return written && { next: written, rows }
  }

  /**
   * Writes rows. Returns undefined if the stored row is no longer `row`, even if the block numbers are invalid. Otherwise an owner that has
   * lost its claim would get an error about block numbers, and not the error about its claim.
   */
  async function writeRows(
    queries: Queries,
    row: ConversationRow,
    next: ConversationRow,
    rows: readonly JournalRow[],
    numbers: NewBlockNumbers,
  ): Promise<ConversationRow | undefined> {
    try {
      checkNumbersUnused(numbers, row.next_block)
    } catch (error) {
      const current = await conversations.find(queries, row.id)
      if (current?.epoch === row.epoch && current.owner_id === row.owner_id && current.last_seq === row.last_seq) throw error
      return undefined
    }
    return writeEntries(queries, row, next, rows)
  }

  /** Whether the journal has these rows. Another owner may have claimed the conversation since they were written. */
  async function isWritten({ key }: ConversationRow, rows: readonly JournalRow[]): Promise<boolean> {
    const [first, last] = [rows[0]?.seq ?? 0, rows.at(-1)?.seq ?? 0]
    const found = await database.all<{ body: string }>(
      'SELECT body FROM journal WHERE conversation = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq',
      [key, first, last],
    )
    return found.length === rows.length && found.every(({ body }, index) => body === rows[index]?.body)
  }

  async function readFrameContext(conversationId: string, changes: readonly Change[]): Promise<FrameContext> {
    const knownBlocks = await reader.firstVersions(conversationId, importedIds(changes))
    const saved = await reader.loadVisible(conversationId)
    return { lastSeq: saved?.lastSeq ?? 0, frame: frameAfter(saved?.timeline ?? emptyTimeline(), changes), knownBlocks }
  }

  /** Creates a conversation from a bundle, in one transaction. Other work of this process runs between the slices. */
  async function importBundle(bundle: unknown, as: string | undefined): Promise<{ readonly conversationId: string }> {
    const { conversationId: named, slices, bytes } = await unpackBundle(bundle)
    const conversationId = as ?? named
    checkConversationName(conversationId)
    if (await conversations.findCommitted(conversationId)) throw conversationExists(conversationId)
    for (const content of bytes.values()) await blobs.put(content)
    const prepared: PreparedAppend[] = []
    for (const slice of slices) {
      prepared.push(await prepareAppend(slice, blobs, () => undefined))
      await pause()
    }
    const changes = prepared.flatMap((slice) => slice.changes)
    const { next } = asBundleFailure(() => newBlockNumbersFast(changes, () => undefined))
    const frame = frameAfter(emptyTimeline(), changes)
    let created: ConversationRow | undefined
    const attempt = async (queries: Queries) => {
      await lockBlobs(queries, 'shared')
      await ensureBlobs(new Map([...prepared.flatMap(({ needed }) => [...needed]), ...bytes]), blobsWithin(queries))
      created = await conversations.create(queries, conversationId, clock.now())
      if (!created) throw conversationExists(conversationId)
      let row = created
      for (const slice of prepared) {
        const info = infoAfter(infoOf(row), slice.changes)
        const rows = slice.rows.map((each, index): JournalRow => ({ seq: row.last_seq + 1 + index, ...each }))
        const nextRow = { ...withInfo(row, info), indexed_seq: info.lastSeq, next_block: next }
        const written = await writeEntries(queries, row, nextRow, rows)
        if (!written) throw conversationExists(conversationId)
        row = written
        await pause()
      }
      await putFrame(queries, row.key, 1 + frame.index, frame.value)
      await indexAfter(queries, conversationId, row.key, 0)
      return row.last_seq
    }
    // No other conversation has the same epoch. If the answer to the commit was lost, the epoch shows whether this import has created the
    // conversation.
    const onLost = async () => {
      const found = created && (await conversations.findCommitted(conversationId))
      return found && found.epoch === created?.epoch ? found.last_seq : undefined
    }
    const lastSeq = await whileLost(() => database.write(attempt), onLost)
    onAppended(conversationId, lastSeq, changes)
    return { conversationId }
  }

  return { append, importBundle }
}
