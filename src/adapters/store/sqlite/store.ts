import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { exportBundle } from '../shared/bundles.ts'
import { conversationMissing } from '../shared/conversation-list.ts'
import { createAppender } from './append.ts'
import { createConversations } from './conversations.ts'
import { openDatabase } from './database.ts'
import { createIndexer } from './index-entries.ts'
import { createFinder, createLoader } from './read.ts'
import { createRemover } from './remove.ts'
import { createJournalWriter, createRowReader, isMissingBlob } from './rows.ts'

export interface SqliteSettings {
  /** Made, with its folder, when it is not there. */
  readonly file: string
  readonly blobs: BlobStore
  readonly clock: Clock
}

/**
 * The embedded store: one file that several processes may share. What `append` has acknowledged survives a killed process and a power
 * cut. A file that is damaged, newer, or not ours is refused and left as it was.
 */
export async function createSqliteStore({ file, blobs, clock }: SqliteSettings): Promise<ConversationStore> {
  const database = await openDatabase(file)
  const rows = createRowReader(blobs)
  const conversations = createConversations(database)
  const loader = createLoader(database, rows)
  const finder = createFinder(database, rows)
  const remover = createRemover(database, conversations, blobs)
  const journal = createJournalWriter(database)
  const appender = createAppender({ database, conversations, journal, indexer: createIndexer(database), loader, blobs })

  return {
    blobs,

    claim: (conversationId, owner, options) =>
      database.write(() => conversations.claim(conversationId, owner, clock.now(), options?.takeOver ?? 'when-free')),
    renew: (claim) => database.write(() => conversations.renew(claim, clock.now())),
    release: (claim) => database.write(() => conversations.release(claim)),

    append: appender.append,

    loadVisible: (conversationId) => retryMissingBlob(() => loader.loadVisible(conversationId)),
    findByPath: (conversationId, path) => retryMissingBlob(() => finder.byPath(conversationId, path)),
    findByTurn: (conversationId, turnId) => retryMissingBlob(() => finder.byTurn(conversationId, turnId)),
    findByCall: (conversationId, callId) => retryMissingBlob(() => finder.byCall(conversationId, callId)),
    readTurnLog: (conversationId, turnId) => retryMissingBlob(() => finder.turnLog(conversationId, turnId)),

    async *readJournal(conversationId, { after, limit = Number.POSITIVE_INFINITY }) {
      let last = after
      for (let left = limit; left > 0; ) {
        const page = await retryMissingBlob(() => finder.page(conversationId, last, left))
        if (page.length === 0) return
        yield* page
        left -= page.length
        last = page.at(-1)?.seq ?? last
      }
    },

    list: async (query) => conversations.list(query),

    exportBundle: (conversationId) =>
      retryMissingBlob(async () => {
        const saved = await loader.loadVisible(conversationId)
        if (!saved) throw conversationMissing(conversationId)
        const changes = await finder.upTo(conversationId, saved.lastSeq)
        return exportBundle(conversationId, changes, saved.timeline, blobs)
      }),
    importBundle: (bundle, options) => appender.importBundle(bundle, options?.as),

    delete: remover.delete,
    releaseBlobs: remover.letGo,
    retain: (policy) => remover.retain(policy, clock.now()),
    close: database.close,
  }
}

/** A conversation may be deleted between reading a row and its blob. Its rows go first, so a second look tells that from damage. */
async function retryMissingBlob<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!isMissingBlob(error)) throw error
    return read()
  }
}
