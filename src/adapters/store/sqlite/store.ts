import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { exportBundle } from '../shared/bundles.ts'
import { conversationMissing } from '../shared/conversation-info.ts'
import { createRowReader, retryMissingBlob } from '../shared/rows.ts'
import { createAppender } from './append.ts'
import { createSqliteBudgets } from './budgets.ts'
import { createConversations } from './conversations.ts'
import { openDatabase } from './database.ts'
import { createIndexer, createJournalWriter } from './journal.ts'
import { createLister } from './list.ts'
import { createOffers } from './offers.ts'
import { createReader } from './read.ts'
import { createSqliteRecall } from './recall.ts'
import { createDeleter } from './removal/delete.ts'
import { createReceipts } from './removal/receipts.ts'
import { createRemover } from './removal/remove.ts'
import { createSqliteSchedules } from './schedules.ts'
import { createWatch } from './watch.ts'
import { createWorkList } from './work.ts'

/** Options of `createSqliteStore`. */
export interface SqliteSettings {
  /** The database file. If it does not exist, it is created, with its folder. */
  readonly file: string
  readonly blobs: BlobStore
  readonly clock: Clock
  /** Whether a file that this process may not change is opened for reading. Reads then work, and writes throw `store.failed`. */
  readonly allowReadOnly?: boolean
}

/**
 * A store in one SQLite file, which several processes may share. Once `append` has resolved, its entries survive a killed process and a
 * power cut. A file that is damaged, of a newer version or of another program is rejected and not changed.
 */
export async function createSqliteStore({ file, blobs, clock, allowReadOnly = false }: SqliteSettings): Promise<ConversationStore> {
  const database = await openDatabase(file, allowReadOnly)
  const rows = createRowReader(blobs)
  const conversations = createConversations(database)
  const reader = createReader(database, rows)
  const recall = createSqliteRecall(database, reader)
  const receipts = createReceipts(database, clock)
  const deleter = createDeleter({ database, conversations, recall, receipts, blobs, clock })
  const journal = createJournalWriter(database)
  // `touch` writes to the file without changing a value. So `check` fails if the file can not be written.
  const touch = database.writeStatement("UPDATE counters SET value = value WHERE name = 'claims'")
  const { watch, watchOffers, note, noteOffer, close: closeWatch } = createWatch(database)
  const offers = createOffers({ database, conversations, rows, blobs, clock, onOffered: noteOffer })
  const remover = createRemover({ database, conversations, recall, blobs, deleter, offers })
  const budgets = createSqliteBudgets(database, conversations, clock.now)
  const appender = createAppender({
    ...{ database, conversations, journal, indexer: createIndexer(database), recall, reader, offers, budgets, blobs, clock },
    onAppended(conversationId, lastSeq, changes) {
      note(conversationId, lastSeq)
      recall.noteAppended(conversationId, changes)
    },
  })

  return {
    blobs,
    memory: recall.index,
    budgets: budgets.port,
    schedules: createSqliteSchedules({ database, conversations, offers, now: clock.now }),
    work: createWorkList({ database, conversations, clock, onFree: noteOffer }),
    receipts: {
      ...receipts.port,
      async finish(receiptId, names) {
        const receipt = await receipts.port.finish(receiptId, names)
        await deleter.emptyLog()
        return receipt
      },
    },

    // Leases need not be synced to disk, because a power cut also ends their owner. The release after a failed attempt is synced, because
    // it stores the failure.
    claim: (conversationId, owner, options) =>
      database.writeUnsynced(() => conversations.claim(conversationId, owner, clock.now(), options)),
    findOwner: async (conversationId, asker) => conversations.findOwner(conversationId, asker, clock.now()),
    renew: (claim) => database.writeUnsynced(() => conversations.renew(claim, clock.now())),
    release: (claim, result) => {
      const write = typeof result === 'object' ? database.writeTogether : database.writeUnsynced
      return write(() => conversations.release(claim, clock.now(), result))
    },

    append: appender.append,

    offer: offers.offer,
    readOffers: (conversationId) => retryMissingBlob(() => offers.read(conversationId)),
    findOffer: offers.find,
    watchOffers,

    loadVisible: (conversationId) => retryMissingBlob(() => reader.loadVisible(conversationId)),
    findByPath: (conversationId, path) => retryMissingBlob(() => reader.byPath(conversationId, path)),
    findByTurn: (conversationId, turnId) => retryMissingBlob(() => reader.byTurn(conversationId, turnId)),
    findByCall: (conversationId, callId) => retryMissingBlob(() => reader.byCall(conversationId, callId)),
    readTurnLog: (conversationId, turnId) => retryMissingBlob(() => reader.turnLog(conversationId, turnId)),

    readJournal: (conversationId, range) => reader.journal(conversationId, range),

    watch,

    head: async (conversationId) => conversations.head(conversationId),
    list: createLister(database, clock),

    exportBundle: (conversationId) =>
      retryMissingBlob(async () => {
        const saved = await reader.loadVisible(conversationId)
        if (!saved) throw conversationMissing(conversationId)
        const changes = await reader.changesUpTo(conversationId, saved.lastSeq)
        return exportBundle(conversationId, changes, saved.timeline, blobs)
      }),
    importBundle: (bundle, options) => appender.importBundle(bundle, options?.as),

    delete: deleter.delete,
    async finishDeletions(options) {
      const { finished } = await deleter.finishUnfinished(options)
      await remover.removeRecorded()
      return finished
    },
    releaseBlobs: remover.releaseBlobs,
    retain: (policy, options = {}) => remover.retain(policy, options, clock.now()),
    async check() {
      await database.write(() => void touch.run())
      await blobs.check?.()
    },
    async close() {
      closeWatch()
      await recall.close()
      await database.close()
    },
  }
}
