import { type IncomingSource, isSid, type SourceFields, type SourceRow } from './source.ts'
import { normalizeUrl } from './url.ts'

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

/** Two rows with one key are one source. A file is known by where it lies, everything else by its address. */
export function sourceKey(row: { readonly url?: string; readonly physical_path?: string }): string {
  return row.physical_path === undefined ? normalizeUrl(row.url ?? '') : `local:${row.physical_path}`
}

const scores = ['weighted_rank', 'objective_relevance', 'query_relevance'] as const

/** What both rows know of one source. The very same row comes back when nothing new was learnt. */
export function combineRows(known: SourceRow, incoming: IncomingSource): SourceRow {
  const learnt = new Map<string, unknown>()
  for (const [field, value] of Object.entries(incoming)) {
    if (field !== 'sid' && isMissing(known[field]) && !isMissing(value)) learnt.set(field, value)
  }
  if (isBetterTitle(incoming.title, known.title)) learnt.set('title', incoming.title)
  if (isLonger(incoming.text, known.text)) learnt.set('text', incoming.text)

  // The length is a fact about one body, and never filled in from another.
  if (!isMissing(known.content) || !isMissing(incoming.content)) learnt.delete('content_length')
  if (isLonger(incoming.content, known.content)) {
    learnt.set('content', incoming.content)
    const length = incoming.content_length ?? (known.content_length === undefined ? undefined : incoming.content?.length)
    if (length !== undefined && length !== known.content_length) learnt.set('content_length', length)
  }

  for (const score of scores) if ((incoming[score] ?? -Infinity) > (known[score] ?? -Infinity)) learnt.set(score, incoming[score])
  if (incoming.used === true && known.used !== true) learnt.set('used', true)
  return learnt.size === 0 ? known : { ...known, ...Object.fromEntries(learnt) }
}

const isMissing = (value: unknown) => value === undefined || value === null || value === ''
const isLonger = (candidate: string | undefined, known: string | undefined) => (candidate?.length ?? 0) > (known?.length ?? 0)

/** A row without a title carries its address as one; however long, that is worse than any title. */
function isBetterTitle(candidate: string | undefined, known: string | undefined): boolean {
  const real = isTitle(candidate)
  return real === isTitle(known) ? isLonger(candidate, known) : real
}

const isTitle = (title: string | undefined) => !isMissing(title) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(title ?? '')

export interface SelectedSources {
  /** In the order asked for. */
  readonly rows: readonly SourceRow[]
  readonly missing: readonly number[]
}

/** The rows behind a selector's sids. A missing one is reported, never an error. */
export function selectSources(pool: SourcePool, sids: Iterable<number>): SelectedSources {
  const bySid = sourcesBySid(pool)
  const asked = [...new Set(sids)]
  return {
    rows: asked.flatMap((sid) => bySid.get(sid) ?? []),
    missing: asked.filter((sid) => !bySid.has(sid)),
  }
}

/** What replacing citations needs. */
export const sourcesBySid = (pool: SourcePool): ReadonlyMap<number, SourceRow> => new Map(pool.rows.map((row) => [row.sid, row]))

// The last four are there because a sid must lead to its file when only the timeline is at hand.
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

export type CompactRow = Pick<SourceRow, 'sid' | (typeof compactFields)[number]>

const maximumText = 500

/** The row as the timeline keeps it: no body, no hosting handles, and a short text. */
export function compactRow(row: SourceRow): CompactRow {
  const fields = compactFields.filter((field) => row[field] !== undefined).map((field) => [field, row[field]] as const)
  const text = row.text === undefined ? {} : { text: shorten(row.text) }
  return { sid: row.sid, ...(Object.fromEntries(fields) as Partial<Pick<SourceFields, (typeof compactFields)[number]>>), ...text } // keys are those of `kept`
}

export const compactSnapshot = (pool: SourcePool): readonly CompactRow[] => pool.rows.map(compactRow)

/** Counts code points, so that no character is cut in two; a text that was cut says so once, however often it is shortened. */
function shorten(text: string): string {
  if (text.length <= maximumText) return text
  let end = 0
  for (let points = 0; points < maximumText && end < text.length; points++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return end === text.length || text.slice(end) === truncationMark ? text : text.slice(0, end) + truncationMark
}

const truncationMark = '...(truncated)'
