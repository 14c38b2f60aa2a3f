import { isObject } from '../../../../core/json.ts'
import type { BlobStore } from '../../../../ports/blobs.ts'
import { type BudgetColumns, COPIED_BUDGETS } from '../../shared/budgets.ts'
import { type ConversationRow, lastActivityOf } from '../../shared/conversation-row.ts'
import {
  COPY_PAGE,
  type CopiedConversation,
  type CopiedEntry,
  type CopiedOffer,
  type CopiedReceipt,
  type CopySource,
  type CopyTarget,
  copiedColumns,
  namesOfEntry,
  receiptsOf,
} from '../../shared/copy.ts'
import { createRowReader, parseRow, poolChanges } from '../../shared/rows.ts'
import { parseConversation, ROW, toStoredColumn } from '../conversation-columns.ts'
import type { Database, Queries } from '../database.ts'
import { hashOf, type NameKind } from '../journal/journal.ts'
import { gramsOf } from '../titles.ts'

/** Reads the rows of the tables. `blobs` is needed for offers with a very long event id. */
export function createCopyReader({ all }: Pick<Queries, 'all'>, blobs: BlobStore): CopySource {
  const { readRows } = createRowReader(blobs)

  async function* entriesOf(key: number): AsyncGenerator<readonly CopiedEntry[]> {
    for (let after = 0; ; ) {
      const rows = await all<CopiedEntry>(
        `SELECT seq, type, ts, body FROM journal WHERE conversation = $1 AND seq > $2 ORDER BY seq LIMIT ${COPY_PAGE}`,
        [key, after],
      )
      const last = rows.at(-1)
      if (!last) return
      yield rows
      after = last.seq
    }
  }

  /** The event id of an offer. It is read from the body, because the table has only its hash. */
  async function eventOf(conversationId: string, { number, body }: { readonly number: number; readonly body: string }): Promise<string> {
    const row = { seq: number, body }
    const stored = parseRow(conversationId, row)
    const event = isObject(stored) && isObject(stored.event) ? stored.event.event_id : undefined
    if (typeof event === 'string') return event
    const [entry] = await readRows(conversationId, [row]) // the id is so long that it is stored as a blob
    return entry?.change.type === 'event.accepted' ? entry.change.event.event_id : ''
  }

  return {
    async count() {
      const [counts] = await all<{ conversations: number; entries: number }>(
        'SELECT (SELECT count(*) FROM conversations) AS conversations, (SELECT count(*) FROM journal) AS entries',
      )
      return counts ?? { conversations: 0, entries: 0 }
    },
    async *ids(after = '') {
      for (let last = after; ; ) {
        const rows = await all<{ id: string }>('SELECT id FROM conversations WHERE id > $1 ORDER BY id LIMIT 1000', [last])
        for (const { id } of rows) yield id
        const end = rows.at(-1)
        if (!end) return
        last = end.id
      }
    },
    async read(conversationId) {
      const [stored] = await all<ConversationRow>(`SELECT ${ROW} FROM conversations WHERE id = $1`, [conversationId])
      if (!stored) return undefined
      const row = parseConversation(stored)
      const { key } = row
      const offers = await all<Omit<CopiedOffer, 'event'>>(
        'SELECT number, body, outcome, taken_at FROM offers WHERE conversation = $1 ORDER BY number',
        [key],
      )
      const [frame] = await all<{ seq: number; body: string }>('SELECT seq, body FROM frames WHERE conversation = $1', [key])
      return {
        head: { ...row, last_activity_at: lastActivityOf(row) },
        frame,
        blocks: await all('SELECT number, seq FROM blocks WHERE conversation = $1 ORDER BY number', [key]),
        references: await all('SELECT seq, sha256 FROM blob_refs WHERE conversation = $1 ORDER BY seq, sha256 COLLATE "C"', [key]),
        offers: await Promise.all(offers.map(async (offer) => ({ ...offer, event: await eventOf(conversationId, offer) }))),
        schedules: await all(
          'SELECT schedule, body, every, next_at, fired, fired_at, removed FROM schedules WHERE conversation = $1 ORDER BY schedule',
          [key],
        ),
        entries: entriesOf(key),
      }
    },
    async latestEpoch() {
      const [row] = await all<{ last_value: number; is_called: boolean }>('SELECT last_value, is_called FROM claims')
      return row?.is_called ? row.last_value : 0
    },
    receipts: async () =>
      receiptsOf(await all<CopiedReceipt>('SELECT receipt, subject, started_at, finished_at FROM receipts ORDER BY number'), {
        counts: await all('SELECT receipt, name, count FROM receipt_counts'),
        blobs: await all('SELECT receipt, sha256 FROM receipt_blobs'),
        conversations: await all(
          'SELECT receipt, id, files_counted::int AS files_counted FROM receipt_conversations JOIN conversations ON key = conversation',
        ),
      }),
    budgets: () => all<BudgetColumns>(`SELECT ${COPIED_BUDGETS} FROM budgets ORDER BY name`),
    unreferencedBlobs: async () =>
      (await all<{ sha256: string }>('SELECT sha256 FROM unreferenced_blobs ORDER BY sha256 COLLATE "C"')).map(({ sha256 }) => sha256),
  }
}

/** Writes rows into tables that no other process uses. */
export function createCopyWriter(database: Database): Pick<CopyTarget, 'has' | 'write' | 'remove'> {
  async function removeRow({ all, run }: Queries, conversationId: string): Promise<void> {
    const [found] = await all<{ key: number }>('SELECT key FROM conversations WHERE id = $1', [conversationId])
    if (!found) return
    await run('DELETE FROM journal WHERE conversation = $1', [found.key])
    await run('DELETE FROM conversations WHERE key = $1', [found.key])
  }

  async function write(queries: Queries, conversation: CopiedConversation): Promise<void> {
    const { head, frame, blocks, references, offers, schedules, entries } = conversation
    await removeRow(queries, head.id)
    const [row] = await queries.all<{ key: number }>(
      `INSERT INTO conversations (${copiedColumns.join(', ')}) VALUES (${copiedColumns.map((_, n) => `$${n + 1}`).join(', ')}) RETURNING key`,
      copiedColumns.map((column) => toStoredColumn(column, head[column])),
    )
    const key = row?.key
    const insert = (sql: string, rows: readonly object[]) => insertRows(queries, sql, key, rows)
    if (head.title !== null) await queries.run('INSERT INTO titles VALUES ($1, $2)', [key, gramsOf(head.title)])
    if (frame) await queries.run('INSERT INTO frames (conversation, seq, body) VALUES ($1, $2, $3)', [key, frame.seq, frame.body])
    await insert('INSERT INTO blocks (conversation, number, seq) SELECT $1, r.* FROM unnest($2::bigint[], $3::int[]) AS r', blocks)
    await insert('INSERT INTO blob_refs (conversation, seq, sha256) SELECT $1, r.* FROM unnest($2::bigint[], $3::text[]) AS r', references)
    await insert(
      `INSERT INTO offers (conversation, number, event_hash, body, outcome, taken_at) OVERRIDING SYSTEM VALUE
       SELECT $1, r.* FROM unnest($2::bigint[], $3::bytea[], $4::text[], $5::text[], $6::text[]) AS r`,
      offers.map(({ number, event, body, outcome, taken_at }) => ({ number, event_hash: hashOf(event), body, outcome, taken_at })),
    )
    await insert(
      `INSERT INTO schedules (conversation, schedule, body, every, next_at, fired, fired_at, removed)
       SELECT $1, r.* FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::text[], $8::int[]) AS r`,
      schedules.map((row) => ({ ...row })),
    )
    const firstSeq = new Map(blocks.map(({ number, seq }) => [number, seq]))
    for await (const page of entries) {
      await insert(
        `INSERT INTO journal (conversation, seq, type, ts, body)
         SELECT $1, r.* FROM unnest($2::int[], $3::text[], $4::text[], $5::text[]) AS r`,
        page.map(({ seq, type, ts, body }) => ({ seq, type, ts, body })),
      )
      await insert(
        'INSERT INTO sources (conversation, seq) SELECT $1, unnest($2::int[])',
        page.filter(({ type }) => poolChanges.has(type)).map(({ seq }) => ({ seq })),
      )
      const names = page.filter(({ seq }) => seq <= head.indexed_seq).flatMap((entry) => nameRows(head.id, entry, firstSeq))
      await insert(
        'INSERT INTO names (conversation, kind, name_hash, seq) SELECT $1, r.* FROM unnest($2::text[], $3::bytea[], $4::int[]) AS r',
        names,
      )
    }
  }

  return {
    has: async (conversationId) => (await database.all('SELECT 1 FROM conversations WHERE id = $1', [conversationId])).length > 0,
    remove: (conversationId) => database.write((queries) => removeRow(queries, conversationId)),
    write: (conversation) => database.write((queries) => write(queries, conversation)),
  }
}

export async function insertReceipts({ run }: Queries, receipts: readonly CopiedReceipt[]): Promise<void> {
  for (const { receipt, subject, started_at, finished_at, counts, blobs, conversations } of receipts) {
    await run('INSERT INTO receipts (receipt, subject, started_at, finished_at) VALUES ($1, $2, $3, $4)', [
      ...[receipt, subject, started_at, finished_at],
    ])
    const columns = [counts.map(({ name }) => name), counts.map(({ count }) => count)]
    await run('INSERT INTO receipt_counts (receipt, name, count) SELECT $1, r.* FROM unnest($2::text[], $3::bigint[]) AS r', [
      receipt,
      ...columns,
    ])
    await run('INSERT INTO receipt_blobs (receipt, sha256) SELECT $1, unnest($2::text[])', [receipt, blobs.map(({ sha256 }) => sha256)])
    await run(
      `INSERT INTO receipt_conversations (conversation, receipt, files_counted) SELECT key, $1, r.counted > 0
       FROM unnest($2::text[], $3::int[]) AS r (id, counted) JOIN conversations USING (id)`,
      [receipt, conversations.map(({ id }) => id), conversations.map(({ files_counted }) => files_counted)],
    )
  }
}

/** Inserts rows with one statement per page. `$1` is the key of the conversation, and each column of the rows is an array. */
async function insertRows(queries: Queries, sql: string, key: number | undefined, rows: readonly object[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  for (let at = 0; at < rows.length; at += COPY_PAGE) {
    const page = rows.slice(at, at + COPY_PAGE) as readonly Readonly<Record<string, unknown>>[]
    await queries.run(sql, [key, ...columns.map((column) => page.map((row) => row[column]))])
  }
}

function nameRows(conversationId: string, entry: CopiedEntry, firstSeq: ReadonlyMap<number, number>) {
  const { paths, calls, turns } = namesOfEntry(conversationId, entry, firstSeq)
  const rows = (kind: NameKind, names: readonly string[]) => names.map((name) => ({ kind, name_hash: hashOf(name), seq: entry.seq }))
  return [...rows('path', paths), ...rows('call', calls), ...rows('turn', turns)]
}
