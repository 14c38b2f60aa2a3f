import type { Clock } from '../../../../ports/clock.ts'
import { type Counts, REMOVED_BLOBS, type Receipts, SHARED_BLOBS, type StoredReceipt } from '../../../../ports/store/receipts.ts'
import { type ReceiptRow, receiptOf } from '../../shared/removal/receipts.ts'
import type { Database, Queries } from '../database.ts'

/** The tables with rows of a conversation, besides `conversations`. A test compares the list with the tables of the schema. */
const counted = ['journal', 'sources', 'blocks', 'names', 'frames', 'blob_refs', 'offers', 'titles', 'schedules']

const COUNT_ROWS = `SELECT ${counted.map((table) => `(SELECT count(*) FROM ${table} WHERE conversation = $1) AS ${table}`).join(', ')}`

const RECEIPT = `SELECT receipt, started_at, finished_at,
  (SELECT count(*) FROM receipt_conversations WHERE receipt_conversations.receipt = receipts.receipt) AS unfinished FROM receipts`

interface Assigned {
  readonly receipt: string
  readonly files_counted: boolean
}

/** The receipts of deletions. Call all functions except `port` inside the transaction that removes the data. */
export function createReceipts(database: Database, clock: Clock) {
  async function addTo(queries: Queries, receipt: string, counts: Counts): Promise<void> {
    const found = Object.entries(counts).filter(([, count]) => count > 0)
    await queries.run(
      `INSERT INTO receipt_counts SELECT $1, name, count FROM unnest($2::text[], $3::bigint[]) AS added (name, count)
       ON CONFLICT (receipt, name) DO UPDATE SET count = receipt_counts.count + excluded.count`,
      [receipt, found.map(([name]) => name), found.map(([, count]) => count)],
    )
  }

  async function assigned(queries: Queries, key: number): Promise<Assigned | undefined> {
    const sql = 'SELECT receipt, files_counted FROM receipt_conversations WHERE conversation = $1'
    return (await queries.all<Assigned>(sql, [key]))[0]
  }

  async function read(queries: Pick<Queries, 'all'>, where: string, value: string): Promise<StoredReceipt | undefined> {
    const [row] = await queries.all<ReceiptRow>(`${RECEIPT} WHERE ${where} ORDER BY number DESC LIMIT 1`, [value])
    if (!row) return undefined
    const counts = await queries.all<{ name: string; count: number }>(
      'SELECT name, count FROM receipt_counts WHERE receipt = $1 ORDER BY name COLLATE "C"',
      [row.receipt],
    )
    return receiptOf(row, counts)
  }

  const port: Receipts = {
    open: (subject, newId) =>
      database.repeat(async (queries) => {
        await queries.run('INSERT INTO receipts (receipt, subject, started_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
          ...[newId, subject, clock.now()],
        ])
        return (await read(queries, 'subject = $1', subject)) as StoredReceipt // the row exists: it was just inserted, or it existed before
      }),
    find: (subject) => database.read((queries) => read(queries, 'subject = $1', subject)),
    finish: (receipt, { tenants: tenantKeys, budgets: names, budgetPrefixes }) =>
      database.repeat(async (queries) => {
        const [open] = await queries.all('SELECT 1 FROM receipts WHERE receipt = $1 AND finished_at IS NULL FOR UPDATE', [receipt])
        if (open) {
          const tenants = await queries.run(
            'DELETE FROM tenants WHERE tenant = ANY ($1::text[]) AND NOT EXISTS (SELECT 1 FROM conversations WHERE conversations.tenant = tenants.tenant)',
            [tenantKeys],
          )
          const [shared] = await queries.all<{ count: number }>(
            `SELECT count(*) AS count FROM receipt_blobs WHERE receipt = $1
             AND EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.sha256 = receipt_blobs.sha256)`,
            [receipt],
          )
          const budgets = await queries.run(
            'DELETE FROM budgets WHERE name = ANY ($1::text[]) OR EXISTS (SELECT 1 FROM unnest($2::text[]) AS prefix WHERE starts_with(name, prefix))',
            [names, budgetPrefixes],
          )
          await addTo(queries, receipt, { tenants, budgets, [SHARED_BLOBS]: shared?.count ?? 0 })
          await queries.run('DELETE FROM receipt_blobs WHERE receipt = $1', [receipt])
          await queries.run('UPDATE receipts SET finished_at = $1 WHERE receipt = $2', [clock.now(), receipt])
        }
        return (await read(queries, 'receipt = $1', receipt)) as StoredReceipt // receipts are never removed
      }),
  }

  return {
    port,
    /** Counts the rows of a conversation for a receipt, unless they were counted before. */
    async assign(queries: Queries, key: number, receipt: string): Promise<void> {
      const sql = 'INSERT INTO receipt_conversations (conversation, receipt) VALUES ($1, $2) ON CONFLICT DO NOTHING'
      if ((await queries.run(sql, [key, receipt])) === 0) return
      const [rows] = await queries.all<Record<string, number>>(COUNT_ROWS, [key])
      await addTo(queries, receipt, { conversations: 1, ...rows })
    },
    /** Whether the conversation has a receipt for which its files were not counted yet. */
    needsFiles: async (queries: Queries, key: number): Promise<boolean> => (await assigned(queries, key))?.files_counted === false,
    async addFiles(queries: Queries, key: number, counts: Counts): Promise<void> {
      const row = await assigned(queries, key)
      if (row?.files_counted !== false) return
      await addTo(queries, row.receipt, counts)
      await queries.run('UPDATE receipt_conversations SET files_counted = true WHERE conversation = $1', [key])
    },
    async addRows(queries: Queries, key: number, counts: Counts): Promise<void> {
      const row = await assigned(queries, key)
      if (row) await addTo(queries, row.receipt, counts)
    },
    /** Counts the blobs that were removed. Also stores the hashes of the blobs that stay because another conversation refers to them. */
    async addBlobs(
      queries: Queries,
      key: number,
      { removed, shared }: { readonly removed: readonly string[]; readonly shared: readonly string[] },
    ): Promise<void> {
      const receipt = (await assigned(queries, key))?.receipt
      if (receipt === undefined) return
      await addTo(queries, receipt, { [REMOVED_BLOBS]: removed.length })
      await queries.run('DELETE FROM receipt_blobs WHERE receipt = $1 AND sha256 = ANY ($2::text[])', [receipt, removed])
      await queries.run('INSERT INTO receipt_blobs SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING', [receipt, shared])
    },
  }
}

export type PostgresReceipts = ReturnType<typeof createReceipts>
