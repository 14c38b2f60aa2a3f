import { createHash } from 'node:crypto'
import { blockNumber, callIdOf } from '../../../core/block/index.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import type { Frame } from '../../../core/timeline/frame.ts'
import { turnsLoggedBy } from '../../../core/timeline/journal-bundle.ts'
import type { ConversationRow } from '../shared/conversation-row.ts'
import { parseRow, poolChanges, type StoredRow } from '../shared/rows.ts'
import { headColumns, headValues } from './conversations.ts'
import type { Queries } from './database.ts'

/** A row to be written to the journal, with the hashes of the blobs that its change refers to. */
export interface JournalRow {
  readonly seq: number
  readonly change: Change
  readonly body: string
  readonly blobs: readonly string[]
}

/**
 * Writes entries and the row of their conversation in one statement. It writes nothing and returns false if a claim, an append or a
 * deletion has changed the row since `row` was read. A change without a time gets the time of the entry before it.
 */
export async function writeEntries(
  queries: Queries,
  row: ConversationRow,
  next: ConversationRow,
  rows: readonly JournalRow[],
): Promise<boolean> {
  let ts = row.last_activity_at
  const times = rows.map(({ change }) => {
    ts = changeTime(change) ?? ts
    return ts
  })
  const sources = rows.filter(({ change }) => poolChanges.has(change.type)).map(({ seq }) => seq)
  const references = rows.flatMap(({ seq, blobs }) => blobs.map((sha256) => ({ seq, sha256 })))
  const values = [
    ...headValues(next),
    ...[row.key, row.epoch, row.owner_id, row.last_seq],
    ...[rows.map(({ seq }) => seq), rows.map(({ change }) => change.type), times, rows.map(({ body }) => body)],
    ...(sources.length > 0 ? [sources] : []),
    ...(references.length > 0 ? [references.map(({ seq }) => seq), references.map(({ sha256 }) => sha256)] : []),
  ]
  const written = await queries.all(statementFor(sources.length > 0, references.length > 0), values)
  return written.length === 1
}

const statements = new Map<string, string>()

/** The statement for an append with or without changes of the pool of sources and references to blobs. */
function statementFor(hasSources: boolean, hasReferences: boolean): string {
  const key = `${hasSources} ${hasReferences}`
  const known = statements.get(key)
  if (known !== undefined) return known
  const count = headColumns.length
  const at = (offset: number) => `$${count + offset}`
  const set = headColumns.map((column, index) => `${column} = $${index + 1}`).join(', ')
  const parts = [
    `head AS (UPDATE conversations SET ${set} WHERE key = ${at(1)} AND epoch = ${at(2)} AND owner_id IS NOT DISTINCT FROM ${at(3)}
      AND last_seq = ${at(4)} AND deleted_at IS NULL RETURNING key)`,
    `entries AS (INSERT INTO journal (conversation, seq, type, ts, body) SELECT key, entry.* FROM head,
      unnest(${at(5)}::int[], ${at(6)}::text[], ${at(7)}::text[], ${at(8)}::text[]) AS entry)`,
    ...(hasSources
      ? [`source AS (INSERT INTO sources (conversation, seq) SELECT key, seq FROM head, unnest(${at(9)}::int[]) AS seq)`]
      : []),
    ...(hasReferences
      ? [
          `reference AS (INSERT INTO blob_refs (conversation, seq, sha256) SELECT key, reference.* FROM head,
            unnest(${at(hasSources ? 10 : 9)}::bigint[], ${at(hasSources ? 11 : 10)}::text[]) AS reference)`,
        ]
      : []),
  ]
  const sql = `WITH ${parts.join(', ')} SELECT key FROM head`
  statements.set(key, sql)
  return sql
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
