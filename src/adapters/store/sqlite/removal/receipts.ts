import type { Clock } from '../../../../ports/clock.ts'
import { type Counts, REMOVED_BLOBS, type Receipts, SHARED_BLOBS, type StoredReceipt } from '../../../../ports/store/receipts.ts'
import { addCounts, type ReceiptRow, receiptOf } from '../../shared/removal/receipts.ts'
import type { Database } from '../database.ts'
import { ENTRIES_AFTER } from '../journal.ts'

/**
 * SQL that counts the rows of the conversation with key ?1 in each table. The rows of the memory index are counted when they are removed,
 * because the conversations of a user share these rows. A test compares the list with the tables of the schema.
 */
const counted = {
  conversations: 'SELECT count(*) AS count FROM conversations WHERE key = ?1',
  journal: `SELECT count(*) AS count FROM journal WHERE ${ENTRIES_AFTER.replace('?2', '0')}`,
  ...Object.fromEntries(
    ['sources', 'blocks', 'paths', 'calls', 'turns', 'frames', 'blob_refs', 'offers', 'schedules', 'memory_turns', 'memory_behind'].map(
      (table) => [table, `SELECT count(*) AS count FROM ${table} WHERE conversation = ?1`],
    ),
  ),
}

/** The receipts of deletions. Call all functions except `port` inside the transaction that removes the data. */
export function createReceipts(database: Database, clock: Clock) {
  const counters = Object.entries(counted).map(([table, sql]) => [table, database.writeStatement<{ count: number }>(sql)] as const)
  const insert = database.writeStatement('INSERT INTO receipts (receipt, subject, started_at) VALUES (?, ?, ?)')
  const COLUMNS = `receipt, started_at, finished_at,
    (SELECT count(*) FROM receipt_conversations WHERE receipt_conversations.receipt = receipts.receipt) AS unfinished`
  const latest = database.writeStatement<ReceiptRow>(`SELECT ${COLUMNS} FROM receipts WHERE subject = ? ORDER BY number DESC LIMIT 1`)
  const byId = database.writeStatement<ReceiptRow>(`SELECT ${COLUMNS} FROM receipts WHERE receipt = ?`)
  const countsOf = database.writeStatement<{ name: string; count: number }>(
    'SELECT name, count FROM receipt_counts WHERE receipt = ? ORDER BY name',
  )
  const add = database.writeStatement(
    'INSERT INTO receipt_counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  )
  const assign = database.writeStatement('INSERT OR IGNORE INTO receipt_conversations (conversation, receipt) VALUES (?, ?)')
  const assigned = database.writeStatement<{ receipt: string; files_counted: 0 | 1 }>(
    'SELECT receipt, files_counted FROM receipt_conversations WHERE conversation = ?',
  )
  const setFilesCounted = database.writeStatement('UPDATE receipt_conversations SET files_counted = 1 WHERE conversation = ?')
  const noteShared = database.writeStatement('INSERT OR IGNORE INTO receipt_blobs VALUES (?, ?)')
  const forgetShared = database.writeStatement('DELETE FROM receipt_blobs WHERE receipt = ? AND sha256 = ?')
  const countShared = database.writeStatement<{ count: number }>(
    'SELECT count(*) AS count FROM receipt_blobs WHERE receipt = ? AND EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.sha256 = receipt_blobs.sha256)',
  )
  const forgetAllShared = database.writeStatement('DELETE FROM receipt_blobs WHERE receipt = ?')
  const removeTenant = database.writeStatement(
    'DELETE FROM tenants WHERE tenant = ?1 AND NOT EXISTS (SELECT 1 FROM conversations WHERE conversations.tenant = ?1)',
  )
  const removeBudget = database.writeStatement('DELETE FROM budgets WHERE name = ?')
  const removeBudgets = database.writeStatement('DELETE FROM budgets WHERE substr(name, 1, length(?1)) = ?1')
  const noteFreedText = database.writeStatement("UPDATE counters SET value = 1 WHERE name = 'freed_text'")
  const end = database.writeStatement('UPDATE receipts SET finished_at = ? WHERE receipt = ?')

  const addTo = (receipt: string, counts: Counts) => addCounts(counts, (name, count) => void add.run(receipt, name, count))
  const read = (row: ReceiptRow): StoredReceipt => receiptOf(row, countsOf.all(row.receipt))

  const port: Receipts = {
    open: (subject, newId) =>
      database.write(() => {
        const known = latest.get(subject)
        if (known && known.finished_at === null) return read(known)
        insert.run(newId, subject, clock.now())
        return read(latest.get(subject) as ReceiptRow) // the row was just inserted
      }),
    find: (subject) =>
      database.write(() => {
        const row = latest.get(subject)
        return row && read(row)
      }),
    finish: (receipt, { tenants, budgets, budgetPrefixes }) =>
      database.write(() => {
        if (byId.get(receipt)?.finished_at === null) {
          const removed = tenants.reduce((count, tenant) => count + removeTenant.run(tenant), 0)
          const removedBudgets =
            budgets.reduce((count, name) => count + removeBudget.run(name), 0) +
            budgetPrefixes.reduce((count, prefix) => count + removeBudgets.run(prefix), 0)
          addTo(receipt, { tenants: removed, budgets: removedBudgets, [SHARED_BLOBS]: countShared.get(receipt)?.count ?? 0 })
          forgetAllShared.run(receipt)
          end.run(clock.now(), receipt)
          noteFreedText.run() // the write-ahead log still contains the names of the deleted tenants and budgets
        }
        return read(byId.get(receipt) as ReceiptRow) // receipts are never removed
      }),
  }

  return {
    port,
    /** Counts the rows of a conversation for a receipt, unless they were counted before. */
    assign(key: number, receipt: string): void {
      if (assign.run(key, receipt) === 0) return
      addTo(receipt, Object.fromEntries(counters.map(([table, statement]) => [table, statement.get(key)?.count ?? 0])))
    },
    /** Whether the conversation has a receipt for which its files were not counted yet. */
    needsFiles: (key: number): boolean => assigned.get(key)?.files_counted === 0,
    addFiles(key: number, counts: Counts): void {
      const row = assigned.get(key)
      if (row?.files_counted !== 0) return
      addTo(row.receipt, counts)
      setFilesCounted.run(key)
    },
    addRows(key: number, counts: Counts): void {
      const row = assigned.get(key)
      if (row) addTo(row.receipt, counts)
    },
    /** Counts the blobs that were removed. Also stores the hashes of the blobs that stay because another conversation refers to them. */
    addBlobs(key: number, { removed, shared }: { readonly removed: readonly string[]; readonly shared: readonly string[] }): void {
      const row = assigned.get(key)
      if (!row) return
      addTo(row.receipt, { [REMOVED_BLOBS]: removed.length })
      for (const sha256 of removed) forgetShared.run(row.receipt, sha256)
      for (const sha256 of shared) noteShared.run(row.receipt, sha256)
    },
  }
}

export type SqliteReceipts = ReturnType<typeof createReceipts>
