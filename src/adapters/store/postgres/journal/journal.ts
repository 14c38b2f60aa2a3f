import { hash } from 'node:crypto'
import { blockNumber, callIdOf } from '../../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../../core/timeline/change.ts'
import type { Frame } from '../../../../core/timeline/frame.ts'
import { turnsLoggedBy } from '../../../../core/timeline/journal-bundle.ts'
import type { ConversationRow } from '../../shared/conversation-row.ts'
import { parseRow, type StoredRow } from '../../shared/rows.ts'
import type { Queries } from '../database.ts'
import { entriesStatement, type JournalRow } from './entries-statement.ts'
import { progressStatementFast } from './fast-progress.ts'

/**
 * Writes entries and the row of their conversation in one statement, and returns the row as it is stored. It writes nothing and returns
 * undefined if a claim, an append or a deletion has changed the row since `row` was read.
 */
export async function writeEntries(
  queries: Queries,
  row: ConversationRow,
  next: ConversationRow,
  rows: readonly JournalRow[],
): Promise<ConversationRow | undefined> {
  const { stored, sql, values } = progressStatementFast(row, next, rows) ?? entriesStatement(row, next, rows)
  const written = await queries.run(sql, values)
  // without entries, the statement changes only the row of the conversation
  return written === Math.max(rows.length, 1) ? stored : undefined
}

/** Replaces the frame of the conversation. Older frames are not needed, because loading starts with the latest one. */
export async function putFrame(queries: Queries, conversation: number, seq: number, frame: Frame): Promise<void> {
  await queries.run(
    'INSERT INTO frames (conversation, seq, body) VALUES ($1, $2, $3) ON CONFLICT (conversation) DO UPDATE SET seq = $2, body = $3',
    [conversation, seq, JSON.stringify(frame)],
  )
}

/**
 * Once a conversation has this many entries that are not indexed, they are indexed when it is released. Until then, a search reads them one
 * by one.
 */
export const INDEX_BATCH = 96

/** Once a running turn has this many entries that are not indexed, the next append indexes them. */
export const MAX_UNINDEXED = 4 * INDEX_BATCH

/** The names by which blocks are found. Only their hashes are stored, because a path may be longer than an index of PostgreSQL allows. */
export type NameKind = 'path' | 'call' | 'turn'

export const hashOf = (name: string): Buffer => hash('sha256', JSON.stringify(name), 'buffer')

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
