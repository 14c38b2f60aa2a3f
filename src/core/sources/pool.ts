import { isOrdered, orderedRows, replaceRows, rowOf } from './sorted-rows.ts'
import type { IncomingSource, SourceRow } from './source.ts'
import { keysOf, moveKeys, sourceKey } from './source-keys.ts'

/** The sources of a conversation, sorted by SID. `next_sid` only grows, so the SID of a removed source is never given to another source. */
export interface SourcePool {
  readonly rows: readonly SourceRow[]
  readonly next_sid: number
}

export const emptyPool: SourcePool = { rows: [], next_sid: 1 }

/** The pool after `mergeSources`, and the SIDs that the incoming rows got. */
export interface MergeResult {
  readonly pool: SourcePool
  /** The new and changed rows. Only these rows have to be stored. */
  readonly changed: readonly SourceRow[]
  /** The SID of each incoming row, in the same order. */
  readonly sids: readonly number[]
  /**
   * Maps each number that the tool gave to a row (the `sid` in its output) to the SID of this row in the pool. If the tool gave one number
   * to two rows, the number is mapped to the SID of the first row.
   */
  readonly renumbered: ReadonlyMap<number, number>
}

/**
 * Adds rows to the pool. A source that the pool already has keeps its SID, and gets the fields that it lacks and longer texts. A new source
 * gets the next SID, whatever number the tool gave it.
 */
export function mergeSources(given: SourcePool, incoming: readonly IncomingSource[]): MergeResult {
  const pool = isOrdered(given.rows) ? given : applyMerge(emptyPool, given)
  const sidByKey = keysOf(pool.rows)
  const newKeys = new Map<string, number>()
  const touched = new Map<number, SourceRow>()
  const renumbered = new Map<number, number>()
  let next = firstFreeSid(pool.rows, pool.next_sid)

  const sids = incoming.map((row) => {
    const key = sourceKey(row)
    const sid = newKeys.get(key) ?? sidByKey.get(key) ?? next++
    const before = touched.get(sid) ?? rowOf(pool.rows, sid)
    const after = before === undefined ? { ...row, sid } : combineRows(before, row)
    if (after !== before) touched.set(sid, after)
    newKeys.set(key, sid)
    if (row.sid !== undefined && !renumbered.has(row.sid)) renumbered.set(row.sid, sid)
    return sid
  })

  const changed = [...touched.values()].sort((a, b) => a.sid - b.sid)
  return { pool: { rows: replaceRows(pool.rows, changed).rows, next_sid: next }, changed, sids, renumbered }
}

/** Applies a merge that the journal contains. `rows` are the rows that the merge added or changed. */
export function applyMerge(pool: SourcePool, { rows, next_sid }: SourcePool): SourcePool {
  const counter = Math.max(pool.next_sid, next_sid)
  const added = orderedRows(rows)
  const before = orderedRows(pool.rows)
  const { rows: merged, keepsKeys } = replaceRows(before, added)
  if (keepsKeys) moveKeys(before, merged, added)
  return { rows: merged, next_sid: firstFreeSid(merged, counter) }
}

/** Removes a row. Its SID is not given to another source. */
export function removeSource(pool: SourcePool, sid: number): SourcePool {
  return { ...pool, rows: pool.rows.filter((row) => row.sid !== sid) }
}

/** Marks rows as cited. SIDs that the pool does not have are ignored. */
export function markUsed(pool: SourcePool, sids: Iterable<number>): SourcePool {
  const before = orderedRows(pool.rows)
  const used = [...new Set(sids)].flatMap((sid) => rowOf(before, sid) ?? [])
  const changed = used.filter((row) => row.used !== true).map((row) => ({ ...row, used: true }))
  const { rows } = replaceRows(before, changed)
  moveKeys(before, rows, changed)
  return { ...pool, rows }
}

/** Whether the pool has a source with this SID. */
export const hasSource = (pool: SourcePool, sid: number): boolean =>
  isOrdered(pool.rows) ? rowOf(pool.rows, sid) !== undefined : pool.rows.some((row) => row.sid === sid)

interface SelectedSources {
  /** The found rows, in the order of the given SIDs. */
  readonly rows: readonly SourceRow[]
  readonly missing: readonly number[]
}

/** The rows with these SIDs, and the SIDs that the pool does not have. */
export function selectSources(pool: SourcePool, sids: Iterable<number>): SelectedSources {
  const rows = orderedRows(pool.rows)
  const unique = [...new Set(sids)]
  return {
    rows: unique.flatMap((sid) => rowOf(rows, sid) ?? []),
    missing: unique.filter((sid) => !rowOf(rows, sid)),
  }
}

export const sourcesBySid = (pool: SourcePool): ReadonlyMap<number, SourceRow> => new Map(pool.rows.map((row) => [row.sid, row]))

/**
 * The rows that an exported timeline contains. They have only the fields that `compactRow` copies: no `content`, no scores, no fields about
 * hosting and no fields of the application. `text` is shortened.
 */
export const compactSnapshot = (pool: SourcePool): readonly CompactRow[] => pool.rows.map(compactRow)

/** The next SID. It is higher than the SID of every row, even if `counter` is too low. An imported pool may have no counter. */
const firstFreeSid = (rows: readonly SourceRow[], counter: number) => Math.max(counter, (rows.at(-1)?.sid ?? 0) + 1)

const scores = ['weighted_rank', 'objective_relevance', 'query_relevance'] as const

/**
 * Combines the row of the pool with an incoming row of the same source. It adds the fields that `known` lacks, and takes the better title,
 * the longer texts and the higher scores. Returns `known` itself when nothing changes.
 */
function combineRows(known: SourceRow, incoming: IncomingSource): SourceRow {
  const added = new Map<string, unknown>()
  for (const [field, value] of Object.entries(incoming)) {
    if (field !== 'sid' && isMissing(known[field]) && !isMissing(value)) added.set(field, value)
  }
  if (isBetterTitle(incoming.title, known.title)) added.set('title', incoming.title)
  if (isLonger(incoming.text, known.text)) added.set('text', incoming.text)

  // `content_length` is the length of `content` in the same row. Therefore the `content_length` of one row must not be combined with the
  // `content` of the other row.
  if (!isMissing(known.content) || !isMissing(incoming.content)) added.delete('content_length')
  if (isLonger(incoming.content, known.content)) {
    added.set('content', incoming.content)
    for (const field of ['fetch_status', 'fetched_time_iso'] as const) if (incoming[field] !== undefined) added.set(field, incoming[field])
    const length = incoming.content_length ?? (known.content_length === undefined ? undefined : incoming.content?.length)
    if (length !== undefined && length !== known.content_length) added.set('content_length', length)
  }

  for (const score of scores) if ((incoming[score] ?? -Infinity) > (known[score] ?? -Infinity)) added.set(score, incoming[score])
  if (incoming.used === true && known.used !== true) added.set('used', true)
  return added.size === 0 ? known : { ...known, ...Object.fromEntries(added) }
}

const isMissing = (value: unknown) => value === undefined || value === null || value === ''
const isLonger = (candidate: string | undefined, known: string | undefined) => (candidate?.length ?? 0) > (known?.length ?? 0)

/** Whether `candidate` is the better title. Tools that know no title use the URL instead, so any other title is better than a URL. */
function isBetterTitle(candidate: string | undefined, known: string | undefined): boolean {
  const isReal = isTitle(candidate)
  return isReal === isTitle(known) ? isLonger(candidate, known) : isReal
}

const isTitle = (title: string | undefined) => !isMissing(title) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(title ?? '')

// From the last four fields, a reader of an exported timeline knows where the file of a source is.
const compactFields = [
  'title',
  'url',
  'text',
  'published_time_iso',
  'favicon',
  'mime',
  'source_type',
  'artifact_path',
  'physical_path',
] as const

type CompactRow = Pick<SourceRow, 'sid' | (typeof compactFields)[number]>

const maximumText = 500

function compactRow(row: SourceRow): CompactRow {
  const fields = compactFields.filter((field) => row[field] !== undefined).map((field) => [field, row[field]] as const)
  const text = row.text === undefined ? {} : { text: shorten(row.text) }
  return { sid: row.sid, ...(Object.fromEntries(fields) as Omit<CompactRow, 'sid'>), ...text } // `fields` has only these keys
}

/**
 * Cuts a text after `maximumText` code points, so that no surrogate pair is split. The cut text ends with `...(truncated)`. A text that was
 * cut before is not cut again.
 */
function shorten(text: string): string {
  if (text.length <= maximumText) return text
  let end = 0
  for (let points = 0; points < maximumText && end < text.length; points++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return end === text.length || text.slice(end) === truncationMark ? text : text.slice(0, end) + truncationMark
}

const truncationMark = '...(truncated)'
