import { type Block, blockNumber, callOf } from '../../core/block/index.ts'
import { blocksIn, type Change } from '../../core/timeline/change.ts'
import { type TurnLog, turnLogOf } from '../../core/timeline/turn-log.ts'
import type { Entry } from '../../ports/store.ts'
import type { Database, Statement } from './sqlite-database.ts'
import type { RowReader, StoredRow } from './sqlite-rows.ts'

type TypedRow = StoredRow & { readonly type: string }

const PAGE = 256

/** Looks through all history, by index. The index may find too much (it knows no halves of surrogate pairs); what it finds is checked. */
export function createFinder(database: Database, { readRows }: RowReader) {
  const keyOf = database.reading<{ key: number }>('SELECT key FROM conversations WHERE id = ?')
  const born = database.reading<{ number: number }>('SELECT number FROM blocks WHERE conversation = ? AND seq = ?')
  const page = database.reading<StoredRow>('SELECT seq, body FROM journal WHERE conversation = ? AND seq > ? ORDER BY seq LIMIT ?')
  const until = database.reading<StoredRow>('SELECT seq, body FROM journal WHERE conversation = ? AND seq <= ? ORDER BY seq')
  const through = (table: string, column: string) =>
    database.reading<TypedRow>(
      `SELECT journal.seq, type, body FROM ${table} JOIN journal ON journal.conversation = ${table}.conversation AND journal.seq = ${table}.seq
       WHERE ${table}.conversation = ? AND ${column} = ? ORDER BY journal.seq`,
    )
  const byPath = through('paths', 'path')
  const byTurn = through('turns', 'turn')
  const byCall = through('calls', 'call')

  const inConversation = <T>(conversationId: string, work: (key: number) => T): T | undefined =>
    database.read(() => {
      const found = conversationId.isWellFormed() ? keyOf.get(conversationId) : undefined
      return found && work(found.key)
    })

  async function find(conversationId: string, index: Statement<TypedRow>, value: string, fits: (block: Block) => boolean) {
    const found = inConversation(conversationId, (key) =>
      index.all(key, value).map((row) => ({ row, births: row.type === 'timeline.imported' ? numbers(born.all(key, row.seq)) : undefined })),
    )
    const births = new Map(found?.map(({ row, births: own }) => [row.seq, own]))
    const entries = await readRows(conversationId, found?.map(({ row }) => row) ?? [])
    return entries.flatMap(({ seq, change }) => blocksIn(change).filter((block) => fits(block) && isBorn(block, births.get(seq))))
  }

  return {
    byPath: (conversationId: string, path: string) => find(conversationId, byPath, path, (block) => block.path === path),
    byTurn: (conversationId: string, turnId: string) => find(conversationId, byTurn, turnId, (block) => block.turn_id === turnId),
    byCall: (conversationId: string, callId: string) => find(conversationId, byCall, callId, (block) => callOf(block) === callId),

    async turnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined> {
      const rows = inConversation(conversationId, (key) => byTurn.all(key, turnId)) ?? []
      return turnLogOf(turnId, changesOf(await readRows(conversationId, rows)))
    },

    /** A page of the journal; empty at its end. */
    async page(conversationId: string, after: number, limit: number): Promise<readonly Entry[]> {
      const rows = inConversation(conversationId, (key) => page.all(key, after, Math.min(limit, PAGE))) ?? []
      return readRows(conversationId, rows)
    },

    async upTo(conversationId: string, last: number): Promise<readonly Change[]> {
      return changesOf(await readRows(conversationId, inConversation(conversationId, (key) => until.all(key, last)) ?? []))
    },
  }
}

export type Finder = ReturnType<typeof createFinder>

const changesOf = (entries: readonly Entry[]) => entries.map(({ change }) => change)
const numbers = (rows: readonly { readonly number: number }[]): ReadonlySet<number | undefined> => new Set(rows.map(({ number }) => number))

/** An import repeats blocks that were entered before it: those are not found twice. */
const isBorn = (block: Block, births: ReadonlySet<number | undefined> | undefined) =>
  births === undefined || births.has(blockNumber(block.id))
