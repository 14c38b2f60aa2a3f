import { type Block, blockNumber, callIdOf } from '../../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../../core/timeline/change.ts'
import { type TurnLog, turnLogOf } from '../../../../core/timeline/turn-log.ts'
import type { Entry, JournalRange, Saved } from '../../../../ports/store.ts'
import { isMissingBlob, type RowReader, type StoredRow, type TypedRow, type VisibleRow } from '../../shared/rows.ts'
import { blocksById, changesOf, isFirstVersion, parseFrame, timelineOfRows } from '../../shared/visible.ts'
import { isStorableId } from '../conversation-columns.ts'
import type { Database, Queries } from '../database.ts'
import { hashOf, type NameKind } from './journal.ts'

/** How many rows of the journal are read together. A row has at most about 9 KB, without its large texts. */
const PAGE_SIZE = 64

/**
 * SQL that reads the entries of the conversation $1 whose numbers the query `numbers` returns. Each entry is looked up by its key. The plan
 * of a join, or of a comparison with an array, would depend on statistics, which are often outdated, and could read the whole conversation.
 * `LIMIT 1` keeps PostgreSQL from planning the look-up as a join.
 */
const entriesWith = (numbers: string): string =>
  `SELECT entry.seq, entry.type, entry.body FROM (${numbers}) AS found,
   LATERAL (SELECT seq, type, body FROM journal WHERE conversation = $1 AND seq = found.seq LIMIT 1) AS entry ORDER BY entry.seq`

/** The columns of a conversation that are needed to read its entries. */
interface Place {
  readonly key: number
  readonly last_seq: number
  readonly indexed_seq: number
}

/** Reads conversations. `sqlite/read.ts` explains which entries are read to load a timeline. */
export function createReader(database: Database, rowReader: RowReader) {
  const { readRows } = rowReader
  /** Runs `work` on one snapshot of a conversation. Returns undefined when the conversation does not exist. */
  async function inConversation<T>(conversationId: string, work: (queries: Queries, place: Place) => Promise<T>): Promise<T | undefined> {
    if (!isStorableId(conversationId)) return undefined
    return database.read(async (queries) => {
      const [place] = await queries.all<Place>(
        'SELECT key, last_seq, indexed_seq FROM conversations WHERE id = $1 AND deleted_at IS NULL',
        [conversationId],
      )
      return place && work(queries, place)
    })
  }

  const visibleAfter = (queries: Queries, key: number, after: number) =>
    queries.all<VisibleRow>(
      `SELECT seq, type = 'response.received' AS "isResponse", body FROM journal WHERE conversation = $1 AND seq > $2 ORDER BY seq`,
      [key, after],
    )

  const entriesAfter = (queries: Queries, key: number, after: number, limit: number | null = null) =>
    queries.all<TypedRow>('SELECT seq, type, body FROM journal WHERE conversation = $1 AND seq > $2 ORDER BY seq LIMIT $3', [
      key,
      after,
      limit,
    ])

  const entriesOfBlocks = (queries: Queries, key: number, numbers: readonly (number | undefined)[]) =>
    queries.all<StoredRow>(
      entriesWith(
        `SELECT DISTINCT block.seq FROM unnest($2::bigint[]) AS wanted (number),
         LATERAL (SELECT seq FROM blocks WHERE conversation = $1 AND number = wanted.number LIMIT 1) AS block`,
      ),
      [key, numbers.filter((number) => number !== undefined)],
    )

  async function loadVisible(conversationId: string): Promise<Saved | undefined> {
    const rows = await inConversation(conversationId, async (queries, { key, last_seq: lastSeq }) => {
      const [stored] = await queries.all<StoredRow>('SELECT seq, body FROM frames WHERE conversation = $1', [key])
      const frame = stored && { seq: stored.seq, value: parseFrame(conversationId, stored) }
      const sources = frame
        ? await queries.all<StoredRow>(entriesWith('SELECT seq FROM sources WHERE conversation = $1 AND seq <= $2'), [key, frame.seq])
        : []
      const framed = frame ? await entriesOfBlocks(queries, key, frame.value.order.map(blockNumber)) : []
      return { lastSeq, frame, sources, framed, later: await visibleAfter(queries, key, frame?.seq ?? 0) }
    })
    return rows && timelineOfRows(conversationId, rows, rowReader)
  }

  /** The blocks with these ids, as they were appended, before later changes such as hiding. Ids that do not exist are left out. */
  async function firstVersions(conversationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Block>> {
    if (ids.length === 0) return new Map()
    const rows = await inConversation(conversationId, async (queries, { key, indexed_seq }) => [
      ...(await entriesOfBlocks(queries, key, ids.map(blockNumber))),
      ...(await entriesAfter(queries, key, indexed_seq)),
    ])
    return blocksById(await readRows(conversationId, rows ?? []))
  }

  /**
   * The rows that may contain blocks with this path, turn or call. For the entry of an import, `entered` contains the numbers of the blocks
   * that occur in no earlier entry. For other entries it is undefined.
   */
  const candidates = async (conversationId: string, kind: NameKind, name: string) =>
    (await inConversation(conversationId, async (queries, { key, indexed_seq }) => {
      const indexed = await queries.all<TypedRow>(
        entriesWith('SELECT seq FROM names WHERE conversation = $1 AND kind = $2 AND name_hash = $3'),
        [key, kind, hashOf(name)],
      )
      const rows = [...indexed, ...(await entriesAfter(queries, key, indexed_seq))]
      const entered = new Map<number, ReadonlySet<number>>()
      for (const { seq } of rows.filter(({ type }) => type === 'timeline.imported')) {
        const numbers = await queries.all<{ number: number }>('SELECT number FROM blocks WHERE conversation = $1 AND seq = $2', [key, seq])
        entered.set(seq, new Set(numbers.map(({ number }) => number)))
      }
      return rows.map((row) => ({ ...row, entered: entered.get(row.seq) }))
    })) ?? []

  /** One statement and no transaction, because followers read new entries after every notification. */
  async function pageAfter(conversationId: string, after: number, limit: number, leftOut?: Change['type']): Promise<readonly TypedRow[]> {
    if (!isStorableId(conversationId)) return []
    const [condition, value] = leftOut === undefined ? ['', []] : ['AND type <> $4', [leftOut]]
    return database.all<TypedRow>(
      `SELECT seq, type, body FROM journal
       WHERE conversation = (SELECT key FROM conversations WHERE id = $1 AND deleted_at IS NULL) AND seq > $2 ${condition}
       ORDER BY seq LIMIT $3`,
      [conversationId, after, limit, ...value],
    )
  }

  /** The entry of a row that was read before. Undefined if another process has deleted the row or its conversation meanwhile. */
  async function readIfStored(conversationId: string, row: TypedRow, passNewer: boolean): Promise<Entry | undefined> {
    const read = async () => (await readRows(conversationId, [row], { passNewer }))[0]
    try {
      return await read()
    } catch (error) {
      if (!isMissingBlob(error)) throw error
      const [stored] = await pageAfter(conversationId, row.seq - 1, 1)
      return stored?.seq === row.seq ? read() : undefined
    }
  }

  async function find(conversationId: string, kind: NameKind, name: string, matches: (block: Block) => boolean) {
    const rows = await candidates(conversationId, kind, name)
    const entered = new Map(rows.map((row) => [row.seq, row.entered]))
    const entries = await readRows(conversationId, rows)
    return entries.flatMap(({ seq, change }) =>
      blocksOfChange(change).filter((block) => matches(block) && isFirstVersion(block, entered.get(seq))),
    )
  }

  return {
    loadVisible,
    firstVersions,

    byPath: (conversationId: string, path: string) => find(conversationId, 'path', path, (block) => block.path === path),
    byTurn: (conversationId: string, turnId: string) => find(conversationId, 'turn', turnId, (block) => block.turn_id === turnId),
    byCall: (conversationId: string, callId: string) => find(conversationId, 'call', callId, (block) => callIdOf(block) === callId),

    async turnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined> {
      return turnLogOf(turnId, changesOf(await readRows(conversationId, await candidates(conversationId, 'turn', turnId))))
    },

    /**
     * The entries after `after`, at most `limit`, except those of the type `leftOut`. The large texts of an entry are fetched when the
     * caller takes the entry.
     */
    async *journal(
      conversationId: string,
      { after, limit = Number.POSITIVE_INFINITY, passNewer = false }: JournalRange,
      leftOut?: Change['type'],
    ): AsyncGenerator<Entry> {
      let last = after
      for (let left = limit; left > 0; ) {
        const asked = Math.min(left, PAGE_SIZE)
        const page = await pageAfter(conversationId, last, asked, leftOut)
        let isWhole = true
        for (const row of page) {
          const entry = await readIfStored(conversationId, row, passNewer)
          last = row.seq
          isWhole = entry !== undefined
          if (!entry) break // read the rest of the page again
          left--
          yield entry
        }
        if (isWhole && page.length < asked) return
      }
    },

    /** The changes of all entries up to `lastSeq`. */
    async changesUpTo(conversationId: string, lastSeq: number): Promise<readonly Change[]> {
      const rows = await inConversation(conversationId, (queries, { key }) => entriesAfter(queries, key, 0))
      return changesOf(
        await readRows(
          conversationId,
          (rows ?? []).filter(({ seq }) => seq <= lastSeq),
        ),
      )
    },
  }
}

export type Reader = ReturnType<typeof createReader>
