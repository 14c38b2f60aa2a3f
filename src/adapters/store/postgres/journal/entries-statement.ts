import { type Change, changeTime } from '../../../../core/timeline/change.ts'
import { type ConversationRow, goesOnWithTurn, lastActivityOf } from '../../shared/conversation-row.ts'
import { poolChanges } from '../../shared/rows.ts'
import { headColumns, progressColumns, toStoredColumn } from '../conversation-columns.ts'
import { gramsOf } from '../titles.ts'

/** A row to be written to the journal, with the hashes of the blobs that its change refers to. */
export interface JournalRow {
  readonly seq: number
  readonly change: Change
  readonly body: string
  readonly blobs: readonly string[]
}

/** The statement of `writeEntries`, and the row that it stores. A change without a time gets the time of the entry before it. */
export function entriesStatement(row: ConversationRow, next: ConversationRow, rows: readonly JournalRow[]): EntriesStatement {
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
  if (rows.length === 0) return { stored, sql: update, values: statement.values }
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
  return { stored, sql: `WITH ${statement.parts.join(', ')} ${insert}`, values: statement.values }
}

export interface EntriesStatement {
  readonly stored: ConversationRow
  readonly sql: string
  readonly values: readonly unknown[]
}

/**
 * Up to this many entries are passed as single values, which the server reads faster than arrays. There is one prepared statement for each
 * number of entries.
 */
export const MAX_SINGLE_ENTRIES = 8
const entryTypes = ['int', 'text', 'text', 'text'] as const

/** SQL that returns the entries as a table. */
function tableOf(entries: readonly (readonly unknown[])[], { add }: Pick<Statement, 'add'>): string {
  if (entries.length > MAX_SINGLE_ENTRIES) {
    const columns = entryTypes.map((type, column) => `${add(entries.map((entry) => entry[column]))}::${type}[]`)
    return `unnest(${columns.join(', ')}) AS entry`
  }
  const lines = entries.map((entry) => `(${entry.map((value, column) => `${add(value)}::${entryTypes[column]}`).join(', ')})`)
  return `(VALUES ${lines.join(', ')}) AS entry`
}

type Statement = ReturnType<typeof startStatement>

/** Collects the parts and the values of a statement. `add` adds a value and returns its placeholder, such as `$1`. */
function startStatement() {
  const [values, parts]: [unknown[], string[]] = [[], []]
  return { values, parts, add: (value: unknown) => `$${values.push(value)}`, part: (sql: string) => void parts.push(sql) }
}
