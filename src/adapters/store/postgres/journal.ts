import { createHash } from 'node:crypto'
import { blockNumber, callIdOf } from '../../../core/block/index.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import type { Frame } from '../../../core/timeline/frame.ts'
import { turnsLoggedBy } from '../../../core/timeline/journal-bundle.ts'
import { type ConversationRow, goesOnWithTurn, lastActivityOf } from '../shared/conversation-row.ts'
import { parseRow, poolChanges, type StoredRow } from '../shared/rows.ts'
import { headColumns, progressColumns, toStoredColumn } from './conversations.ts'
import type { Queries } from './database.ts'
import { gramsOf } from './titles.ts'

/** A row to be written to the journal, with the hashes of the blobs that its change refers to. */
export interface JournalRow {
  readonly seq: number
  readonly change: Change
  readonly body: string
  readonly blobs: readonly string[]
}

/**
 * Writes entries and the row of their conversation in one statement, and returns the row as it is stored. It writes nothing and returns
 * undefined if a claim, an append or a deletion has changed the row since `row` was read. A change without a time gets the time of the entry
 * before it.
 */
export async function writeEntries(
  queries: Queries,
  row: ConversationRow,
  next: ConversationRow,
  rows: readonly JournalRow[],
): Promise<ConversationRow | undefined> {
  let ts = lastActivityOf(row)
  const times = rows.map(({ change }) => {
    ts = changeTime(change) ?? ts
    return ts
  })
  const { last_activity_at: active_at } = next
  const isProgress = goesOnWithTurn(row, next)
  const stored = isProgress ? { ...next, last_activity_at: row.last_activity_at, active_at } : { ...next, active_at: null }
  const sources = rows.filter(({ change }) => poolChanges.has(change.type)).map(({ seq }) => seq)
  const references = rows.flatMap(({ seq, blobs }) => blobs.map((sha256) => ({ seq, sha256 })))
  const statement = startStatement()
  const columns = isProgress ? progressColumns : [...headColumns, 'active_at' as const]
  const set = columns.map((column) => `${column} = ${statement.add(toStoredColumn(column, stored[column]))}`)
  const is = (column: 'key' | 'epoch' | 'last_seq') => `${column} = ${statement.add(row[column])}`
  const update = `UPDATE conversations SET ${set.join(', ')} WHERE ${is('key')} AND ${is('epoch')} AND ${is('last_seq')}
    AND owner_id IS NOT DISTINCT FROM ${statement.add(row.owner_id)} AND deleted_at IS NULL`
  if (rows.length === 0) return (await queries.run(update, statement.values)) === 1 ? stored : undefined
  statement.part(`head AS (${update} RETURNING key)`)
  if (sources.length > 0)
    statement.part(
      `source AS (INSERT INTO sources (conversation, seq) SELECT key, seq FROM head, unnest(${statement.add(sources)}::int[]) AS seq)`,
    )
  if (references.length > 0) {
    const [at, hash] = [statement.add(references.map(({ seq }) => seq)), statement.add(references.map(({ sha256 }) => sha256))]
    statement.part(
      `reference AS (INSERT INTO blob_refs (conversation, seq, sha256) SELECT key, reference.* FROM head,
        unnest(${at}::bigint[], ${hash}::text[]) AS reference)`,
    )
  }
  if (row.title !== next.title)
    statement.part(
      `title AS (INSERT INTO titles (conversation, grams) SELECT key, ${statement.add(gramsOf(next.title ?? ''))}::int[] FROM head
        ON CONFLICT (conversation) DO UPDATE SET grams = excluded.grams)`,
    )
  const entries = rows.map(({ seq, change, body }, index) => [seq, change.type, times[index], body])
  const table = tableOf(entries, statement)
  const insert = `INSERT INTO journal (conversation, seq, type, ts, body) SELECT key, entry.* FROM head, ${table}`
  const written = await queries.run(`WITH ${statement.parts.join(', ')} ${insert}`, statement.values)
  return written === rows.length ? stored : undefined
}

/**
 * Up to this many entries are passed as single values, which the server reads faster than arrays. There is one prepared statement for each
 * number of entries.
 */
const MAX_SINGLE_ENTRIES = 8
const entryTypes = ['int', 'text', 'text', 'text'] as const

/** SQL for the entries as a table. */
function tableOf(entries: readonly (readonly unknown[])[], { add }: Pick<Statement, 'add'>): string {
  if (entries.length > MAX_SINGLE_ENTRIES) {
    const columns = entryTypes.map((type, column) => `${add(entries.map((entry) => entry[column]))}::${type}[]`)
    return `unnest(${columns.join(', ')}) AS entry`
  }
  const lines = entries.map((entry) => `(${entry.map((value, column) => `${add(value)}::${entryTypes[column]}`).join(', ')})`)
  return `(VALUES ${lines.join(', ')}) AS entry`
}

type Statement = ReturnType<typeof startStatement>

/** Collects the parts and the values of a statement. `add` returns the place of a value, such as `$1`. */
function startStatement() {
  const [values, parts]: [unknown[], string[]] = [[], []]
  return { values, parts, add: (value: unknown) => `$${values.push(value)}`, part: (sql: string) => void parts.push(sql) }
}

/** Replaces the frame of the conversation. Older frames are not needed, because loading starts with the latest one. */
export async function putFrame(queries: Queries, conversation: number, seq: number, frame: Frame): Promise<void> {
  await queries.run(
    'INSERT INTO frames (conversation, seq, body) VALUES ($1, $2, $3) ON CONFLICT (conversation) DO UPDATE SET seq = $2, body = $3',
    [conversation, seq, JSON.stringify(frame)],
  )
}

/**
 * How many entries are indexed together. Most appends index no entries. Once this many entries are not indexed, the next append indexes
 * all of them, and until then a search reads them one by one.
 */
export const INDEX_BATCH = 96

/** The names by which blocks are found. Only their hashes are stored, because a path may be longer than an index of PostgreSQL allows. */
export type NameKind = 'path' | 'call' | 'turn'

export const hashOf = (name: string): Buffer => createHash('sha256').update(JSON.stringify(name)).digest()

/** Indexes every entry with a `seq` above `indexed` by block, path, call and turn. No blobs are read. */
export async function indexAfter(queries: Queries, conversationId: string, conversation: number, indexed: number): Promise<void> {
  const rows = await queries.all<StoredRow>('SELECT seq, body FROM journal WHERE conversation = $1 AND seq > $2 ORDER BY seq', [
    conversation,
    indexed,
  ])
  const entries = rows.map((row) => ({ seq: row.seq, change: parseRow(conversationId, row) as Change })) // only valid changes are stored
  const firstSeq = new Map<number, number>()
  for (const { seq, change } of entries)
    for (const { id } of blocksOfChange(change)) {
      const number = blockNumber(id)
      if (number !== undefined && !firstSeq.has(number)) firstSeq.set(number, seq)
    }
  const inserted = await queries.all<{ number: number }>(
    `INSERT INTO blocks (conversation, number, seq) SELECT $1, block.* FROM unnest($2::bigint[], $3::int[]) AS block
     ON CONFLICT DO NOTHING RETURNING number`,
    [conversation, [...firstSeq.keys()], [...firstSeq.values()]],
  )
  const isNew = new Set(inserted.map(({ number }) => number))
  const names = new Map<string, { readonly kind: NameKind; readonly name: string; readonly seq: number }>()
  const add = (kind: NameKind, name: string | undefined, seq: number) => {
    if (name !== undefined) names.set(`${kind} ${seq} ${name}`, { kind, name, seq })
  }
  for (const { seq, change } of entries) {
    for (const turn of turnsLoggedBy(change)) add('turn', turn, seq)
    for (const block of blocksOfChange(change)) {
      const number = blockNumber(block.id)
      if (number === undefined || firstSeq.get(number) !== seq || !isNew.has(number)) continue
      add('path', block.path, seq)
      add('call', callIdOf(block), seq)
      add('turn', block.turn_id, seq)
    }
  }
  const list = [...names.values()]
  await queries.run(
    `INSERT INTO names (conversation, kind, name_hash, seq) SELECT $1, name.* FROM unnest($2::text[], $3::bytea[], $4::int[]) AS name
     ON CONFLICT DO NOTHING`,
    [conversation, list.map(({ kind }) => kind), list.map(({ name }) => hashOf(name)), list.map(({ seq }) => seq)],
  )
}
