import { oncePerBlock } from '../block/reader.ts'
import { type IncomingSource, isSid, type SourceRow } from './source.ts'
import { normalizeUrl } from './url.ts'

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
   * to two rows, the first row counts.
   */
  readonly renumbered: ReadonlyMap<number, number>
}

/**
 * Adds rows to the pool. A source that the pool already has keeps its SID, and gets the fields that it lacks and longer texts. A new source
 * gets the next SID, whatever number the tool gave it.
 */
export function mergeSources(pool: SourcePool, incoming: readonly IncomingSource[]): MergeResult {
  const known = new Map(pool.rows.map((row) => [row.sid, row]))
  const sidByKey = new Map(pool.rows.toReversed().map((row) => [keyOfRow(row), row.sid])) // of rows with the same key, the oldest counts
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

  const rows = [...known.values()] // sorted by SID, because the rows of the pool come first and new rows have higher SIDs
  return { pool: { rows, next_sid: next }, changed: rows.filter(({ sid }) => touched.has(sid)), sids, renumbered }
}

/** Applies a merge that the journal contains. `rows` are the rows that the merge added or changed. */
export function applyMerge(pool: SourcePool, { rows, next_sid }: SourcePool): SourcePool {
  const bySid = new Map([...pool.rows, ...rows].filter(({ sid }) => isSid(sid)).map((row) => [row.sid, row]))
  const ordered = [...bySid.values()].sort((a, b) => a.sid - b.sid)
  return { rows: ordered, next_sid: firstFreeSid(ordered, Math.max(pool.next_sid, next_sid)) }
}

/** Removes a row. Its SID is not given to another source. */
export function removeSource(pool: SourcePool, sid: number): SourcePool {
  return { ...pool, rows: pool.rows.filter((row) => row.sid !== sid) }
}

/** Marks rows as cited. SIDs that the pool does not have are ignored. */
export function markUsed(pool: SourcePool, sids: Iterable<number>): SourcePool {
  const used = new Set(sids)
  return { ...pool, rows: pool.rows.map((row) => (used.has(row.sid) && row.used !== true ? { ...row, used: true } : row)) }
}

interface SelectedSources {
  /** The found rows, in the order of the given SIDs. */
  readonly rows: readonly SourceRow[]
  readonly missing: readonly number[]
}

/** The rows with these SIDs, and the SIDs that the pool does not have. */
export function selectSources(pool: SourcePool, sids: Iterable<number>): SelectedSources {
  const bySid = sourcesBySid(pool)
  const unique = [...new Set(sids)]
  return {
    rows: unique.flatMap((sid) => bySid.get(sid) ?? []),
    missing: unique.filter((sid) => !bySid.has(sid)),
  }
}

export const sourcesBySid = (pool: SourcePool): ReadonlyMap<number, SourceRow> => new Map(pool.rows.map((row) => [row.sid, row]))

/**
 * The rows that an exported timeline contains: without `content` and the fields about hosting (`rn`, `hosted_uri`, `key`), and with a
 * shortened `text`.
 */
export const compactSnapshot = (pool: SourcePool): readonly CompactRow[] => pool.rows.map(compactRow)

/** The next SID. It is higher than the SID of every row, even if `counter` is too low. An imported pool may have no counter. */
const firstFreeSid = (rows: readonly SourceRow[], counter: number) => Math.max(counter, (rows.at(-1)?.sid ?? 0) + 1)

/** The key by which a known source is recognised: the physical path of a file, or the normalised URL of any other source. */
export function sourceKey(row: { readonly url?: string; readonly physical_path?: string }): string {
  return row.physical_path === undefined ? normalizeUrl(row.url ?? '') : `local:${row.physical_path}`
}

/** The key of a row, computed once per row. Parsing the URLs of all rows would take longer than the whole merge. */
const keyOfRow = oncePerBlock((row: SourceRow) => sourceKey(row))

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

  // `content_length` is the length of `content` in the same row. So the length from one row must not be combined with the `content` of the
  // other row.
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

/** Whether `candidate` is the better title. Tools use the URL as title if they know no other, so any other title is better than a URL. */
function isBetterTitle(candidate: string | undefined, known: string | undefined): boolean {
  const isReal = isTitle(candidate)
  return isReal === isTitle(known) ? isLonger(candidate, known) : isReal
}

const isTitle = (title: string | undefined) => !isMissing(title) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(title ?? '')

// With the last four fields, a reader of an exported timeline can find the file of a source.
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
