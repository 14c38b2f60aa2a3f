import { combineRows, sourceKey } from './combine.ts'
import { type IncomingSource, isSid, type SourceRow } from './source.ts'

/** The sources of a conversation, ascending by sid. `next_sid` only grows: a number, once given, is never given again. */
export interface SourcePool {
  readonly rows: readonly SourceRow[]
  readonly next_sid: number
}

export const emptyPool: SourcePool = { rows: [], next_sid: 1 }

export interface MergeResult {
  readonly pool: SourcePool
  /** The rows that are new or say more than before: all that has to be stored. */
  readonly changed: readonly SourceRow[]
  /** The pool's sid of each incoming row, in the order they came. */
  readonly sids: readonly number[]
  /** From the number a tool proposed to the pool's; where a tool used one number twice, its first row has it. */
  readonly renumbered: ReadonlyMap<number, number>
}

/** Known sources keep their sid and gain what the new rows know; unknown ones get the next number, whatever was proposed. */
export function mergeSources(pool: SourcePool, incoming: readonly IncomingSource[]): MergeResult {
  const known = new Map(pool.rows.map((row) => [row.sid, row]))
  const sidByKey = new Map(pool.rows.toReversed().map((row) => [keyOfRow(row), row.sid])) // of two rows with one key the older answers
  const renumbered = new Map<number, number>()
  const touched = new Set<number>()
  let next = firstFreeSid(pool.rows, pool.next_sid)

  const sids = incoming.map((row) => {
    const key = sourceKey(row)
    const sid = sidByKey.get(key) ?? next++
    const before = known.get(sid)
    const after = before === undefined ? { ...row, sid } : combineRows(before, row)
    if (after !== before) touched.add(sid)
    known.set(sid, after)
    sidByKey.set(key, sid)
    if (row.sid !== undefined && !renumbered.has(row.sid)) renumbered.set(row.sid, sid)
    return sid
  })

  const rows = [...known.values()] // insertion order: the pool's own, then the new ones, which number upwards
  return { pool: { rows, next_sid: next }, changed: rows.filter(({ sid }) => touched.has(sid)), sids, renumbered }
}

/** What a merge changed, put into a pool that has not seen it: how a stored merge is applied again. */
export function applyMerge(pool: SourcePool, { rows, next_sid }: SourcePool): SourcePool {
  const bySid = new Map([...pool.rows, ...rows].filter(({ sid }) => isSid(sid)).map((row) => [row.sid, row]))
  const ordered = [...bySid.values()].sort((a, b) => a.sid - b.sid)
  return { rows: ordered, next_sid: firstFreeSid(ordered, Math.max(pool.next_sid, next_sid)) }
}

/** The row goes, its number stays taken. */
export function removeSource(pool: SourcePool, sid: number): SourcePool {
  return { ...pool, rows: pool.rows.filter((row) => row.sid !== sid) }
}

/** Marks rows as cited; unknown sids are ignored. */
export function markUsed(pool: SourcePool, sids: Iterable<number>): SourcePool {
  const used = new Set(sids)
  return { ...pool, rows: pool.rows.map((row) => (used.has(row.sid) && row.used !== true ? { ...row, used: true } : row)) }
}

/** A pool read from a snapshot has no counter of its own: no row's number may be given again. */
const firstFreeSid = (rows: readonly SourceRow[], counter: number) => Math.max(counter, (rows.at(-1)?.sid ?? 0) + 1)

const keyCache = new WeakMap<SourceRow, string>()

/** Parsing an address costs more than the rest of a merge, and a row never changes. */
function keyOfRow(row: SourceRow): string {
  const known = keyCache.get(row)
  if (known !== undefined) return known
  const key = sourceKey(row)
  keyCache.set(row, key)
  return key
}
