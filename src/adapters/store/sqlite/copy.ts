import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { Failure } from '../../../core/failure.ts'
import { BUDGET_COLUMNS, type BudgetColumns, COPIED_BUDGETS } from '../shared/budgets.ts'
import { type ConversationRow, lastActivityOf } from '../shared/conversation-row.ts'
import {
  COPY_PAGE,
  type CopiedConversation,
  type CopiedEntry,
  type CopiedHead,
  type CopiedOffer,
  type CopiedReceipt,
  type CopiedSchedule,
  type CopySource,
  type CopyTarget,
  copiedColumns,
  namesOfEntry,
  receiptsOf,
} from '../shared/copy.ts'
import { poolChanges } from '../shared/rows.ts'
import { type Database, openDatabase, type Statement } from './database.ts'
import { formatsOf, isBusy, translateSqliteError } from './open.ts'

/**
 * Runs `work` with the rows of a file that no other process has open. While `work` runs, no process can open the file. The content of the
 * file is not changed. Throws `store.failed` if the file is in use, and `store.outdated` if it has an older format.
 */
export async function withSqliteSource<T>(file: string, work: (source: CopySource) => Promise<T>): Promise<T> {
  const { found, current } = formatsOf(file)
  if (found !== current)
    throw new Failure(
      'store.outdated',
      `${file} has the format ${found}, and this version needs ${current}: run \`daybook migrate\` for its folder`,
    )
  const connection = new DatabaseSync(file, { timeout: 1_000 })
  try {
    lockFile(connection, file)
    const prepare = <Row extends object>(sql: string) => connection.prepare(sql) as unknown as Statement<Row>
    return await work(readerOf(prepare))
  } finally {
    connection.close()
  }
}

/**
 * Takes the exclusive lock of the file. It excludes all other connections, even idle ones, and is released when the connection is closed.
 */
function lockFile(connection: DatabaseSync, file: string): void {
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    connection.prepare('SELECT count(*) FROM counters').get()
  } catch (error) {
    if (!isBusy(error)) throw translateSqliteError(error, file)
    throw new Failure('store.failed', `${file} is in use by another process: end the server or the chat that uses it, and try again`, {
      cause: error,
    })
  }
}

/** Runs `work` with a new database `draft`, which `finish` renames to `file`. If `draft` exists, the earlier copy is continued. */
export async function withSqliteTarget<T>(draft: string, file: string, work: (target: CopyTarget) => Promise<T>): Promise<T> {
  const database = await openDatabase(draft)
  let closed = false
  const close = async () => {
    closed = true
    await database.close()
  }
  try {
    return await work({
      ...readerOf((sql) => database.writeStatement(sql)),
      ...writerOf(database),
      async finish({ latestEpoch, unreferencedBlobs, budgets, receipts }) {
        const insert = database.writeStatement('INSERT INTO unreferenced_blobs VALUES (?) ON CONFLICT DO NOTHING')
        const columns = BUDGET_COLUMNS.join(', ')
        const insertBudget = database.writeStatement(
          `INSERT OR REPLACE INTO budgets (${columns}) VALUES (${BUDGET_COLUMNS.map(() => '?').join(', ')})`,
        )
        await database.write(() => {
          for (const budget of budgets) insertBudget.run(...BUDGET_COLUMNS.map((column) => budget[column]))
          database.writeStatement(`UPDATE counters SET value = max(value, ?) WHERE name = 'claims'`).run(latestEpoch)
          for (const sha256 of unreferencedBlobs) insert.run(sha256)
          insertReceipts(database, receipts)
        })
        await database.emptyLog()
        await close() // merges the write-ahead log into the file
        if (existsSync(file))
          throw new Failure('store.failed', `${file} was created during the move: remove it if it is not needed, and run the move again`)
        await rename(draft, file)
      },
    })
  } finally {
    if (!closed) await close()
  }
}

function insertReceipts({ writeStatement: prepare }: Database, receipts: readonly CopiedReceipt[]): void {
  const insert = prepare('INSERT INTO receipts (receipt, subject, started_at, finished_at) VALUES (?, ?, ?, ?)')
  const insertCount = prepare('INSERT INTO receipt_counts (receipt, name, count) VALUES (?, ?, ?)')
  const insertBlob = prepare('INSERT INTO receipt_blobs (receipt, sha256) VALUES (?, ?)')
  const insertConversation = prepare(
    'INSERT INTO receipt_conversations (conversation, receipt, files_counted) SELECT key, ?, ? FROM conversations WHERE id = ?',
  )
  for (const { receipt, subject, started_at, finished_at, counts, blobs, conversations } of receipts) {
    insert.run(receipt, subject, started_at, finished_at)
    for (const { name, count } of counts) insertCount.run(receipt, name, count)
    for (const { sha256 } of blobs) insertBlob.run(receipt, sha256)
    for (const { id, files_counted } of conversations) insertConversation.run(receipt, files_counted, id)
  }
}

type Prepare = <Row extends object>(sql: string) => Statement<Row>

function readerOf(prepare: Prepare): CopySource {
  const counts = prepare<{ conversations: number; entries: number }>(
    'SELECT (SELECT count(*) FROM conversations) AS conversations, (SELECT count(*) FROM journal) AS entries',
  )
  const idsAfter = prepare<{ id: string }>('SELECT id FROM conversations WHERE id > ? ORDER BY id LIMIT 1000')
  const row = prepare<ConversationRow>('SELECT * FROM conversations WHERE id = ?')
  const frame = prepare<{ seq: number; body: string }>('SELECT seq, body FROM frames WHERE conversation = ?')
  const blocks = prepare<{ number: number; seq: number }>('SELECT number, seq FROM blocks WHERE conversation = ? ORDER BY number')
  const references = prepare<{ seq: number; sha256: string }>(
    'SELECT seq, sha256 FROM blob_refs WHERE conversation = ? ORDER BY seq, sha256',
  )
  const offers = prepare<CopiedOffer>('SELECT number, event, body, outcome, taken_at FROM offers WHERE conversation = ? ORDER BY number')
  const schedules = prepare<CopiedSchedule>(
    'SELECT schedule, body, every, next_at, fired, fired_at, removed FROM schedules WHERE conversation = ? ORDER BY schedule',
  )
  const page = prepare<CopiedEntry>(
    `SELECT entry & 4294967295 AS seq, type, ts, body FROM journal WHERE entry > (?1 << 32) + ?2 AND entry < ((?1 + 1) << 32)
     ORDER BY entry LIMIT ${COPY_PAGE}`,
  )
  const epoch = prepare<{ value: number }>(`SELECT value FROM counters WHERE name = 'claims'`)
  const budgets = prepare<BudgetColumns>(`SELECT ${COPIED_BUDGETS} FROM budgets ORDER BY name`)
  const unreferenced = prepare<{ sha256: string }>('SELECT sha256 FROM unreferenced_blobs ORDER BY sha256')
  const receipts = prepare<CopiedReceipt>('SELECT receipt, subject, started_at, finished_at FROM receipts ORDER BY number')
  const receiptCounts = prepare<{ receipt: string; name: string; count: number }>('SELECT receipt, name, count FROM receipt_counts')
  const receiptBlobs = prepare<{ receipt: string; sha256: string }>('SELECT receipt, sha256 FROM receipt_blobs')
  const receiptConversations = prepare<{ receipt: string; id: string; files_counted: number }>(
    'SELECT receipt, id, files_counted FROM receipt_conversations JOIN conversations ON key = conversation',
  )

  async function* entriesOf(key: number): AsyncGenerator<readonly CopiedEntry[]> {
    for (let after = 0; ; ) {
      const rows = page.all(key, after)
      const last = rows.at(-1)
      if (!last) return
      yield rows
      after = last.seq
    }
  }

  return {
    count: async () => counts.get() ?? { conversations: 0, entries: 0 },
    async *ids(after = '') {
      for (let last = after; ; ) {
        const rows = idsAfter.all(last)
        for (const { id } of rows) yield id
        const end = rows.at(-1)
        if (!end) return
        last = end.id
      }
    },
    async read(conversationId) {
      const found = row.get(conversationId)
      if (!found) return undefined
      const { key } = found
      return {
        head: headOf(found),
        frame: frame.get(key),
        blocks: blocks.all(key),
        references: references.all(key),
        offers: offers.all(key),
        schedules: schedules.all(key),
        entries: entriesOf(key),
      }
    },
    latestEpoch: async () => epoch.get()?.value ?? 0,
    budgets: async () => budgets.all(),
    unreferencedBlobs: async () => unreferenced.all().map(({ sha256 }) => sha256),
    receipts: async () =>
      receiptsOf(receipts.all(), {
        counts: receiptCounts.all(),
        blobs: receiptBlobs.all(),
        conversations: receiptConversations.all(),
      }),
  }
}

/** The columns that are copied. The time of the last entry is always copied as `last_activity_at`, even if a turn is open. */
const headOf = (row: ConversationRow): CopiedHead => ({ ...row, last_activity_at: lastActivityOf(row) })

function writerOf(database: Database): Pick<CopyTarget, 'has' | 'write' | 'remove'> {
  const { writeStatement: prepare } = database
  const find = prepare<{ key: number }>('SELECT key FROM conversations WHERE id = ?')
  const deleteEntries = prepare('DELETE FROM journal WHERE entry BETWEEN ?1 << 32 AND ((?1 + 1) << 32) - 1')
  const deleteRow = prepare('DELETE FROM conversations WHERE key = ?')
  const insertRow = prepare(`INSERT INTO conversations (${copiedColumns.join(', ')}) VALUES (${copiedColumns.map(() => '?').join(', ')})`)
  const insertEntry = prepare('INSERT INTO journal (entry, type, ts, body) VALUES ((?1 << 32) + ?2, ?3, ?4, ?5)')
  const insertFrame = prepare('INSERT INTO frames (conversation, seq, body) VALUES (?, ?, ?)')
  const insertBlock = prepare('INSERT INTO blocks (conversation, number, seq) VALUES (?, ?, ?)')
  const insertReference = prepare('INSERT INTO blob_refs (conversation, seq, sha256) VALUES (?, ?, ?)')
  const insertOffer = prepare('INSERT INTO offers (number, conversation, event, body, outcome, taken_at) VALUES (?, ?, ?, ?, ?, ?)')
  const insertSchedule = prepare(
    'INSERT INTO schedules (conversation, schedule, body, every, next_at, fired, fired_at, removed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const insertSource = prepare('INSERT INTO sources (conversation, seq) VALUES (?, ?)')
  const insertPath = prepare('INSERT INTO paths (conversation, path, seq) VALUES (?, ?, ?)')
  const insertCall = prepare('INSERT INTO calls (conversation, call, seq) VALUES (?, ?, ?)')
  const insertTurn = prepare('INSERT INTO turns (conversation, turn, seq) VALUES (?, ?, ?)')
  const noteBehind = prepare('INSERT INTO memory_behind (conversation) VALUES (?)')

  function removeRow(conversationId: string): void {
    const found = find.get(conversationId)
    if (!found) return
    deleteEntries.run(found.key)
    deleteRow.run(found.key)
  }

  return {
    has: async (conversationId) => find.get(conversationId) !== undefined,
    remove: (conversationId) => database.write(() => removeRow(conversationId)),
    write: ({ head, frame, blocks, references, offers, schedules, entries }: CopiedConversation) =>
      database.write(async () => {
        removeRow(head.id)
        insertRow.run(...copiedColumns.map((column) => head[column]))
        const key = find.get(head.id)?.key ?? 0
        if (frame) insertFrame.run(key, frame.seq, frame.body)
        for (const { number, seq } of blocks) insertBlock.run(key, number, seq)
        for (const { seq, sha256 } of references) insertReference.run(key, seq, sha256)
        for (const offer of offers) insertOffer.run(offer.number, key, offer.event, offer.body, offer.outcome, offer.taken_at)
        for (const { schedule, body, every, next_at, fired, fired_at, removed } of schedules)
          insertSchedule.run(key, schedule, body, every, next_at, fired, fired_at, removed)
        const firstSeq = new Map(blocks.map(({ number, seq }) => [number, seq]))
        for await (const page of entries)
          for (const entry of page) {
            const { seq, type, ts, body } = entry
            insertEntry.run(key, seq, type, ts, body)
            if (poolChanges.has(type)) insertSource.run(key, seq)
            if (seq > head.indexed_seq) continue
            const names = namesOfEntry(head.id, entry, firstSeq)
            for (const path of names.paths) insertPath.run(key, path, seq)
            for (const call of names.calls) insertCall.run(key, call, seq)
            for (const turn of names.turns) insertTurn.run(key, turn, seq)
          }
        if (head.last_seq > 0) noteBehind.run(key) // the memory index is not copied. It is built again later
      }),
  }
}
