import { type Block, blockNumber, callIdOf } from '../../../core/block/index.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { type Frame, timelineFromFrame } from '../../../core/timeline/frame.ts'
import { emptyTimeline } from '../../../core/timeline/timeline.ts'
import { type TurnLog, turnLogOf } from '../../../core/timeline/turn-log.ts'
import type { Entry, Saved } from '../../../ports/store.ts'
import type { Database, Statement } from './database.ts'
import { damagedRow, ENTRIES_AFTER, poolAfter, type RowReader, SEQ, type StoredRow } from './rows.ts'

type VisibleRow = StoredRow & { readonly type: string }

/**
 * What is visible, from as few rows as it takes:
 *
 *   seq   1 … … … … … … … f … … … … last
 *         sources only    │ all of them
 *         + the rows of blocks that the frame at f shows
 */
export function createLoader(database: Database, { readRows, readVisibleRows }: RowReader) {
  const head = database.reading<{ key: number; last_seq: number; indexed_seq: number }>(
    'SELECT key, last_seq, indexed_seq FROM conversations WHERE id = ?',
  )
  const frameAt = database.reading<{ seq: number; body: string }>('SELECT seq, body FROM frames WHERE conversation = ?')
  const beyond = database.reading<VisibleRow>(`SELECT ${SEQ} AS seq, type, body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry`)
  const sources = database.reading<StoredRow>(
    'SELECT seq, body FROM sources JOIN journal ON entry = (conversation << 32 | seq) WHERE conversation = ? AND seq <= ? ORDER BY seq',
  )
  const holding = database.reading<StoredRow>(
    `SELECT ${SEQ} AS seq, body FROM journal WHERE entry IN
     (SELECT ?1 << 32 | seq FROM blocks WHERE conversation = ?1 AND number IN (SELECT value FROM json_each(?2))) ORDER BY entry`,
  )

  function collect(conversationId: string) {
    return database.read(() => {
      const found = head.get(conversationId)
      if (!found) return undefined
      const stored = frameAt.get(found.key)
      const frame = stored && { seq: stored.seq, value: parseFrame(conversationId, stored) }
      return {
        lastSeq: found.last_seq,
        frame,
        sources: frame ? sources.all(found.key, frame.seq) : [],
        framed: frame ? holding.all(found.key, JSON.stringify(frame.value.order.map(blockNumber))) : [],
        rest: beyond.all(found.key, frame?.seq ?? 0),
      }
    })
  }

  return {
    async loadVisible(conversationId: string): Promise<Saved | undefined> {
      const found = collect(conversationId)
      if (!found) return undefined
      const rest = await readVisibleRows(conversationId, found.rest)
      const { frame } = found
      const start = frame
        ? timelineFromFrame(
            frame.value,
            blockLookup(conversationId, frame.seq, await readRows(conversationId, found.framed)),
            poolAfter((await readRows(conversationId, found.sources)).map(({ change }) => change)),
          )
        : emptyTimeline()
      return { timeline: rest.reduce((timeline, { change }) => applyChange(timeline, change), start), lastSeq: found.lastSeq }
    },

    /** Blocks as they were entered, of those ids that were. */
    async enteredBlocks(conversationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Block>> {
      const rows = database.read(() => {
        const found = head.get(conversationId)
        if (!found || ids.length === 0) return []
        return [...holding.all(found.key, JSON.stringify(ids.map(blockNumber))), ...beyond.all(found.key, found.indexed_seq)]
      })
      return blocksById(await readRows(conversationId, rows))
    },
  }
}

export type Loader = ReturnType<typeof createLoader>

/** The first to hold a block entered it; an import may repeat it later. */
function blocksById(entries: readonly Entry[]): ReadonlyMap<string, Block> {
  return new Map(
    entries
      .flatMap(({ change }) => blocksOfChange(change))
      .toReversed()
      .map((block) => [block.id, block]),
  )
}

function blockLookup(conversationId: string, seq: number, entries: readonly Entry[]): (id: string) => Block {
  const blocks = blocksById(entries)
  return (id) => {
    const block = blocks.get(id)
    if (!block) throw damagedRow(conversationId, seq, new Error(`its frame shows block ${id}, which is nowhere in the journal`))
    return block
  }
}

function parseFrame(conversationId: string, stored: { readonly seq: number; readonly body: string }): Frame {
  try {
    return JSON.parse(stored.body) as Frame // we wrote it, from a Frame, in the transaction of the entry it stands beside
  } catch (error) {
    throw damagedRow(conversationId, stored.seq, error)
  }
}

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
    byCall: (conversationId: string, callId: string) => find(conversationId, byCall, callId, (block) => callIdOf(block) === callId),

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
