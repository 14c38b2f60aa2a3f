import { type Block, blockNumber, callOf } from '../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../core/timeline/change.ts'
import { type TurnLog, turnLogOf } from '../../core/timeline/turn-log.ts'
import type { Entry } from '../../ports/store.ts'
import type { Database, Statement } from './sqlite/database.ts'
import type { RowReader, StoredRow } from './sqlite/rows.ts'
import { ENTRIES_AFTER, SEQ } from './sqlite-journal.ts'

type TypedRow = StoredRow & { readonly type: string }

const PAGE_SIZE = 256

/**
 * Looks through all history: by index, and through the few entries that are not indexed yet. Both may find too much (an index knows no
 * halves of surrogate pairs); what is found is checked.
 */
export function createFinder(database: Database, { readRows }: RowReader) {
  const head = database.reading<{ key: number; indexed_seq: number }>('SELECT key, indexed_seq FROM conversations WHERE id = ?')
  const born = database.reading<{ number: number }>('SELECT number FROM blocks WHERE conversation = ? AND seq = ?')
  const page = database.reading<TypedRow>(`SELECT ${SEQ} AS seq, type, body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry LIMIT ?3`)
  const through = (table: string, column: string) =>
    database.reading<TypedRow>(
      `SELECT seq, type, body FROM ${table} JOIN journal ON entry = (conversation << 32 | seq) WHERE conversation = ? AND ${column} = ? ORDER BY seq`,
    )
  const byPath = through('paths', 'path')
  const byTurn = through('turns', 'turn')
  const byCall = through('calls', 'call')

  const inConversation = <T>(conversationId: string, work: (key: number, indexed: number) => T): T | undefined =>
    database.read(() => {
      const found = conversationId.isWellFormed() ? head.get(conversationId) : undefined
      return found && work(found.key, found.indexed_seq)
    })

  const candidates = (conversationId: string, index: Statement<TypedRow>, value: string) =>
    inConversation(conversationId, (key, indexed) =>
      [...index.all(key, value), ...page.all(key, indexed, -1)].map((row) => ({
        ...row,
        births: row.type === 'timeline.imported' ? numberSet(born.all(key, row.seq)) : undefined,
      })),
    ) ?? []

  async function find(conversationId: string, index: Statement<TypedRow>, value: string, fits: (block: Block) => boolean) {
    const rows = candidates(conversationId, index, value)
    const births = new Map(rows.map((row) => [row.seq, row.births]))
    const entries = await readRows(conversationId, rows)
    return entries.flatMap(({ seq, change }) =>
      blocksOfChange(change).filter((block) => fits(block) && isFirstVersion(block, births.get(seq))),
    )
  }

  return {
    byPath: (conversationId: string, path: string) => find(conversationId, byPath, path, (block) => block.path === path),
    byTurn: (conversationId: string, turnId: string) => find(conversationId, byTurn, turnId, (block) => block.turn_id === turnId),
    byCall: (conversationId: string, callId: string) => find(conversationId, byCall, callId, (block) => callOf(block) === callId),

    async turnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined> {
      return turnLogOf(turnId, changesOf(await readRows(conversationId, candidates(conversationId, byTurn, turnId))))
    },

    /** A page of the journal; empty at its end. */
    async page(conversationId: string, after: number, limit: number): Promise<readonly Entry[]> {
      const rows = inConversation(conversationId, (key) => page.all(key, after, Math.min(limit, PAGE_SIZE))) ?? []
      return readRows(conversationId, rows)
    },

    async upTo(conversationId: string, last: number): Promise<readonly Change[]> {
      const rows = inConversation(conversationId, (key) => page.all(key, 0, -1)) ?? []
      return changesOf(
        await readRows(
          conversationId,
          rows.filter(({ seq }) => seq <= last),
        ),
      )
    },
  }
}

export type Finder = ReturnType<typeof createFinder>

const changesOf = (entries: readonly Entry[]) => entries.map(({ change }) => change)
const numberSet = (rows: readonly { readonly number: number }[]): ReadonlySet<number | undefined> =>
  new Set(rows.map(({ number }) => number))

/** An import repeats blocks that were entered before it: those are not found twice. */
const isFirstVersion = (block: Block, births: ReadonlySet<number | undefined> | undefined) =>
  births === undefined || births.has(blockNumber(block.id))
