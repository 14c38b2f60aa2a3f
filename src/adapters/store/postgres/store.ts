import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Relay } from '../../../ports/store/relay.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { exportBundle } from '../shared/bundles.ts'
import { conversationMissing } from '../shared/conversation-info.ts'
import { createRowReader, retryMissingBlob } from '../shared/rows.ts'
import { createPostgresBlobs, postgresBlobsWithin } from './blobs/blobs.ts'
import { createPostgresObjects, type PostgresObjects } from './blobs/objects.ts'
import { createPostgresBudgets } from './budgets.ts'
import { createConversations } from './conversations.ts'
import { checkServer, connectDatabase, type Database, type DatabaseOptions, openDatabase } from './database.ts'
import { createAppender } from './journal/append.ts'
import { createReleasedIndex } from './journal/index-released.ts'
import { createReader } from './journal/read.ts'
import { createPostgresLimits } from './limits.ts'
import { createLister } from './list.ts'
import { createOffers } from './offers.ts'
import { createPostgresRecall } from './recall/recall.ts'
import { createPostgresRelay } from './relay.ts'
import { createDeleter } from './removal/delete.ts'
import { createReceipts } from './removal/receipts.ts'
import { createRemover } from './removal/remove.ts'
import { createPostgresSchedules } from './schedules.ts'
import { DEFAULT_SCHEMA, findVersion, type MigrationReport, migrateTables } from './schema/migrate.ts'
import { readServerTime } from './server-time.ts'
import { createWatch } from './watch.ts'
import { createWorkList } from './work.ts'

/** Options of `createPostgresStore`. */
export interface PostgresSettings extends DatabaseOptions {
  readonly clock: Clock
  /**
   * Which clock measures leases. By default the clock of the server, because the clocks of the processes may differ. A test that controls
   * its own clock passes `clock`.
   */
  readonly leaseTime?: 'database' | 'clock'
  /** Where blobs are stored. By default they are stored in the database. */
  readonly blobs?: BlobStore
  /** Carries live events between processes. Default: notifications of the database. The store does not close the relay. */
  readonly relay?: Relay
}

/**
 * A store in PostgreSQL (version 15 or newer), which any number of processes on any number of machines may share. Once `append` has
 * resolved, its entries are as durable as the server makes a commit.
 */
export async function createPostgresStore(settings: PostgresSettings): Promise<ConversationStore> {
  return (await openPostgres(settings)).store
}

/** Opens a store and the objects of hosted files. Both use the same connections. Closing the store closes the connections. */
export async function openPostgres(
  settings: PostgresSettings,
): Promise<{ readonly store: ConversationStore; readonly objects: PostgresObjects }> {
  const { clock, leaseTime = 'database', blobs, relay, ...options } = settings
  const database = await openDatabase(options)
  const leaseClock = leaseTime === 'clock' ? clock : { ...clock, now: await readServerTime(database) }
  const notices = createPostgresRelay(database, options.schema ?? DEFAULT_SCHEMA)
  const store = createStore(database, clock, leaseClock, blobs)
  const own = relay ?? (database.canListen ? notices : undefined) // a pooler does not pass notifications on
  return {
    store: {
      ...store,
      ...(own && { relay: own }),
      async close() {
        notices.close()
        await store.close()
      },
    },
    objects: createPostgresObjects(database),
  }
}

/**
 * Brings the tables to the version of this code, or creates them. It can be called again, and by several processes at the same time. With
 * `dryRun`, the whole migration runs and is then rolled back.
 */
export async function migratePostgres(options: DatabaseOptions, { dryRun = false } = {}): Promise<MigrationReport> {
  const database = await connectDatabase(options)
  try {
    await checkServer(database)
    return await migrateTables(database, options.schema ?? DEFAULT_SCHEMA, { dryRun })
  } finally {
    await database.close()
  }
}

/** Facts about a server that a connection to it shows. */
export interface ServerDescription {
  readonly version: string
  /** The version of the tables, or 0 when there are none. */
  readonly tables: number
  readonly maxConnections: number
  /** Whether the address is that of a connection pooler. */
  readonly isPooled: boolean
  /** Whether notifications arrive. Without notifications, a process looks for changes every second. */
  readonly hasNotices: boolean
}

/** Reads facts about a server without creating anything. */
export async function describePostgres(options: DatabaseOptions): Promise<ServerDescription> {
  const database = await connectDatabase({ ...options, maxConnections: 1 })
  try {
    await checkServer(database)
    const [server] = await database.statements.all<{ version: string; connections: number }>(
      `SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS connections`,
    )
    const found = await findVersion(database.statements, options.schema ?? DEFAULT_SCHEMA)
    return {
      ...{ version: server?.version ?? '', tables: found?.version ?? 0, maxConnections: server?.connections ?? 0 },
      ...{ isPooled: database.isPooled, hasNotices: database.canListen && (await receivesNotice(database)) },
    }
  } finally {
    await database.close()
  }
}

const NOTICE_WAIT_MS = 3_000

/** Sends a notification, and returns whether this process receives it. */
async function receivesNotice(database: Database): Promise<boolean> {
  const { promise: received, resolve } = Promise.withResolvers<boolean>()
  const listener = await database.listen(
    () => resolve(true),
    () => resolve(false),
  )
  const timer = setTimeout(() => resolve(false), NOTICE_WAIT_MS)
  await database.notify('{}')
  const isReceived = await received
  clearTimeout(timer)
  await listener.close()
  return isReceived
}

function createStore(database: Database, clock: Clock, leaseClock: Clock, given: BlobStore | undefined): ConversationStore {
  const blobs = given ?? createPostgresBlobs(database)
  const blobsWithin = given ? () => given : postgresBlobsWithin
  const rows = createRowReader(blobs)
  const conversations = createConversations(database)
  const reader = createReader(database, rows)
  const { watch, watchOffers, noteAppend, noteOffer, noteDeletion, close: closeWatch } = createWatch(database)
  const recall = createPostgresRecall(database, reader)
  const receipts = createReceipts(database, clock)
  const deleter = createDeleter({ database, conversations, blobsWithin, recall, receipts, clock: leaseClock, onDeleted: noteDeletion })
  const offers = createOffers({ database, conversations, rows, blobs, blobsWithin, clock: leaseClock, onOffered: noteOffer })
  const remover = createRemover({ database, conversations, blobsWithin, recall, deleter, offers })
  const budgets = createPostgresBudgets(database, conversations, leaseClock.now)
  const releasedIndex = createReleasedIndex(database, conversations, noteOffer)
  const appender = createAppender({
    ...{ database, conversations, reader, offers, budgets, blobs, blobsWithin, clock },
    onAppended(conversationId, lastSeq, changes) {
      noteAppend(conversationId, lastSeq)
      recall.noteAppended(conversationId, changes)
    },
  })

  return {
    blobs,
    memory: recall.index,
    budgets: budgets.port,
    limits: createPostgresLimits(database, leaseClock.now),
    schedules: createPostgresSchedules({ database, conversations, offers, now: leaseClock.now }),
    work: createWorkList(database, conversations, leaseClock, noteOffer),
    receipts: receipts.port,

    claim: async (conversationId, owner, claimOptions) => conversations.claim(conversationId, owner, leaseClock.now(), claimOptions),
    findOwner: (conversationId, asker) => conversations.findOwner(conversationId, asker, leaseClock.now()),
    renew: (claim) => conversations.renew(claim, leaseClock.now()),
    async release(claim, result) {
      const { hasWork, row } = await conversations.release(claim, leaseClock.now(), result)
      if (hasWork)
        noteOffer(claim.conversationId) // another process can now continue the conversation
      else if (row) releasedIndex.start(row)
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

    head: conversations.head,
    list: createLister(database, clock),

    exportBundle: (conversationId) =>
      retryMissingBlob(async () => {
        const saved = await reader.loadVisible(conversationId)
        if (!saved) throw conversationMissing(conversationId)
        const changes = await reader.changesUpTo(conversationId, saved.lastSeq)
        return exportBundle(conversationId, changes, saved.timeline, blobs)
      }),
    importBundle: (bundle, importOptions) => appender.importBundle(bundle, importOptions?.as),

    delete: deleter.delete,
    async finishDeletions(deleteOptions) {
      const { finished } = await deleter.finishUnfinished(deleteOptions)
      await remover.removeRecorded()
      return finished
    },
    releaseBlobs: remover.releaseBlobs,
    retain: (policy, deleteOptions = {}) => remover.retain(policy, deleteOptions, leaseClock.now()),
    async check() {
      // this statement writes to the write-ahead log of the server, so it fails if the server can not write
      await database.statements.run(`SELECT nextval('claims')`)
      await blobs.check?.()
    },
    async close() {
      await releasedIndex.close() // closed before the watch, because the index may still send a notification
      await closeWatch()
      await recall.close()
      await database.close()
    },
  }
}
