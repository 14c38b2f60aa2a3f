import type { Meta } from '../core/block/index.ts'
import { rewriteSids } from '../core/citations/sids.ts'
import { isObject, type Json, maximumJsonDepth, omitUndefined, parseJson } from '../core/json.ts'
import { mergeSources, type SourcePool } from '../core/sources/pool.ts'
import { sourceRowsIn } from '../core/sources/rows.ts'
import { addressOf, type IncomingSource, isWebAddress, parseToolSource, sidOf } from '../core/sources/source.ts'
import { sourceKey } from '../core/sources/source-keys.ts'
import type { Change } from '../core/timeline/change.ts'
import type { DeliveredOutcome } from './artifacts/deliver.ts'
import type { Outcome } from './tool.ts'

// A tool numbers the sources in each of its results from 1. The pool has one number, the SID, for each source of the conversation. This
// file replaces the numbers of the tool by SIDs before a result is shown. Otherwise a citation could refer to a source of another result.

/**
 * Parses the source rows of an outcome. A source row is an object with the URL of a source and usually a number, `sid`. If the outcome has
 * no `sources`, the rows are searched in its output. Rows without a URL are left out.
 */
export function withParsedSources(outcome: Outcome): Outcome {
  const given: unknown = outcome.sources
  if (given !== undefined) return withParts(outcome, { sources: Array.isArray(given) ? parseRows(given) : [] })
  const rows = rowsIn(outcome.output)
  return rows.length === 0 ? outcome : withParts(outcome, { sources: parseRows(rows) })
}

/**
 * Finds the source rows in an output. If the output itself is a list or object of source rows, its items are returned. Otherwise all
 * objects with a `sid` are returned, at any depth, if at least one of them is a source row. An output that is JSON text is parsed first.
 */
function rowsIn(output: Json | undefined): readonly unknown[] {
  const value = typeof output === 'string' ? parseJson(output) : output
  if (sourceRowsIn(value).length > 0) return itemsOf(value)
  const numbered = numberedObjects(value)
  return sourceRowsIn(numbered).length > 0 ? numbered : []
}

/**
 * All objects with a `sid`, at any depth. In an object such as `{ "https://a.org": { "sid": 1 } }`, the inner object gets the key as its
 * `url`.
 */
function numberedObjects(root: Json | undefined): readonly object[] {
  const found: object[] = []
  const seen = new Set<object>() // the value may contain itself
  function walk(value: Json | undefined, depth: number): void {
    if (typeof value !== 'object' || value === null || depth > maximumJsonDepth || seen.has(value)) return
    seen.add(value)
    for (const item of itemsOf(value)) {
      if (isObject(item) && sidOf(item.sid) !== undefined) found.push(item)
    }
    for (const item of Object.values(value)) walk(item, depth + 1)
  }
  walk([root ?? null], 0)
  return found
}

/**
 * The items of a list, or the values of an object. In an object such as `{ "https://a.org": { "sid": 1 } }`, the value gets the key as its
 * `url`.
 */
function itemsOf(output: Json | undefined): readonly unknown[] {
  if (!isObject(output)) return Array.isArray(output) ? output : []
  return Object.entries(output).map(([key, row]) =>
    isObject(row) ? { ...row, url: addressOf(row) ?? (isWebAddress(key) ? key : undefined) } : row,
  )
}

/**
 * Parses the rows and leaves out those without a URL. If a row that is left out and another row have the same number, the number is removed
 * from the other row. The reason is that a citation with this number could refer to the row that is left out.
 */
function parseRows(rows: readonly unknown[]): readonly IncomingSource[] {
  const parsed = rows.flatMap((row) => parseToolSource(row) ?? [])
  if (parsed.length === rows.length) return parsed
  const dropped = rows.filter((row) => parseToolSource(row) === undefined)
  const lost = new Set(dropped.flatMap((row) => (isObject(row) ? (sidOf(row.sid) ?? []) : [])))
  return parsed.map(({ sid, ...row }) => (sid === undefined || lost.has(sid) ? row : { ...row, sid }) as IncomingSource)
}

/** The SIDs of the sources of one tool result. */
export interface PoolNumbers {
  /** The source rows of the tool, with SIDs instead of the numbers that the tool gave. */
  readonly sources: readonly IncomingSource[]
  /** Maps a number that the tool gave to the SID. A number that the tool gave to two different sources is not in the map. */
  readonly bySid: ReadonlyMap<number, number>
  readonly byKey: ReadonlyMap<string, number>
}

/**
 * The SIDs of the sources of an outcome. For a source that is not in the pool yet, it is the SID that the source will get. Undefined when
 * the tool returned no source rows.
 */
export function poolNumbersOf({ sources }: Pick<Outcome, 'sources'>, pool: SourcePool): PoolNumbers | undefined {
  if (sources === undefined) return undefined
  const { sids } = mergeSources(pool, sources)
  const bySid = new Map<number, number>()
  const ambiguous = new Set<number>()
  const byKey = new Map<string, number>()
  for (const [index, row] of sources.entries()) {
    const sid = sids[index] as number // `sids` has a number for each row
    byKey.set(sourceKey(row), sid)
    if (row.sid === undefined) continue
    if ((bySid.get(row.sid) ?? sid) !== sid) ambiguous.add(row.sid)
    bySid.set(row.sid, sid)
  }
  for (const sid of ambiguous) bySid.delete(sid)
  return { sources: sources.map((row, index) => renumberRow(row, sids[index] as number, bySid)), bySid, byKey }
}

function renumberRow(row: IncomingSource, sid: number, bySid: PoolNumbers['bySid']): IncomingSource {
  const { title, text, content } = row
  const rewrite = (field: string | undefined) => field && rewriteSids(field, bySid, 'any')
  return { ...row, ...omitUndefined({ title: rewrite(title), text: rewrite(text), content: rewrite(content) }), sid }
}

/**
 * Replaces the numbers that the tool gave to its sources by SIDs, in all citations of a text. A citation with a number that is not in the
 * map is removed, even inside code. In JSON text, the values of `sid`, `sids` and `sources_used` are also replaced. The JSON is not parsed
 * for this, because parsing and writing it again would change values such as long numbers.
 */
export function renumberText(text: string, numbers: PoolNumbers): string {
  const cited = rewriteSids(text, numbers.bySid, 'any')
  if (!cited.includes('"s')) return cited
  return cited
    .replace(sidInText, (_, key: string, sid: string) => key + (numbers.bySid.get(sidOf(sid) ?? 0) ?? null))
    .replace(listInText, (_, key: string, list: string) => key + JSON.stringify(renumberList(list.match(/\d+/g) ?? [], numbers)))
}

const sidInText = /("sid"\s*:\s*)"?(\d{1,15})\b"?/g
const listInText = /("(?:sids|sources_used)"\s*:\s*)\[([\s\d,"]*)\]/g

/** An outcome before its files are stored and hosted (`artifacts`), or afterwards (`delivered`). */
type AnyOutcome = Outcome & Pick<DeliveredOutcome, 'delivered'>

/**
 * Replaces the numbers that the tool gave to its sources by SIDs: in `sources`, in every `sid` of the output, and in every citation. The
 * content of `artifacts` is not changed. `deliver` changes it later.
 */
export function withPoolNumbers<T extends AnyOutcome>(outcome: T, numbers: PoolNumbers): T {
  const { output, error, notices, drafts, after, artifacts, delivered } = outcome
  const renumber = <V>(value: V): V => renumberJson(value as Json, numbers) as V // `renumberJson` keeps the shape of the value
  return withParts<AnyOutcome>(outcome, {
    sources: numbers.sources,
    ...(output !== undefined && { output: renumber(output) }),
    ...(error && { error: renumber(error) }),
    ...(notices && { notices: renumber(notices) }),
    ...(drafts && { drafts: drafts.map((draft) => renumberContent(draft, numbers)) }),
    ...(after && { after: after.map((draft) => renumberContent(draft, numbers)) }),
    ...(artifacts && { artifacts: artifacts.map((made) => ({ ...made, ...renumberNote(made, numbers), digest: renumber(made.digest) })) }),
    ...(delivered && { delivered: delivered.map((made) => ({ ...renumberContent(made, numbers), digest: renumber(made.digest) })) }),
  }) as T
}

/**
 * Copies an outcome and replaces some of its fields. The copy has the same prototype, because `outcomeOf` recognises outcomes by their
 * prototype.
 */
const withParts = <T extends object>(outcome: T, parts: Partial<T>): T =>
  Object.assign(Object.create(Object.getPrototypeOf(outcome)), outcome, parts)

interface Content {
  readonly text?: string
  readonly note?: string
  readonly meta?: Meta
}

/** Replaces source numbers by SIDs in the text and the note of a block or artifact, and in the list `sources_used` of its `meta`. */
function renumberContent<T extends Content>(content: T, numbers: PoolNumbers): T {
  const { text, meta } = content
  const cited = meta?.sources_used && renumberList(meta.sources_used, numbers)
  return {
    ...content,
    ...renumberNote(content, numbers),
    ...(text !== undefined && { text: renumberText(text, numbers) }),
    ...(cited && { meta: { ...meta, sources_used: cited } }),
  }
}

const renumberNote = ({ note }: Content, numbers: PoolNumbers) => (note === undefined ? {} : { note: renumberText(note, numbers) })

/** Keys whose values are lists of source numbers. */
const listKeys: ReadonlySet<string> = new Set(['sids', 'sources_used'])

const renumberList = (sids: readonly unknown[], { bySid }: PoolNumbers): readonly number[] => [
  ...new Set(sids.flatMap((sid) => bySid.get(sidOf(sid) ?? 0) ?? [])),
]

/**
 * Replaces source numbers by SIDs in a JSON value: in citations, in the `sid` of each object, and in the lists `sids` and `sources_used`.
 */
function renumberJson(root: Json, numbers: PoolNumbers): Json {
  const seen = new Map<object, Json>() // the value may contain itself

  function walk(value: Json, address: string | undefined, depth: number): Json {
    if (typeof value === 'string') return renumberText(value, numbers)
    if (typeof value !== 'object' || value === null || depth > maximumJsonDepth) return value
    const known = seen.get(value)
    if (known !== undefined) return known
    seen.set(value, value)
    const renumbered = Array.isArray(value)
      ? value.map((item: Json) => walk(item, undefined, depth + 1))
      : walkObject(value, address, depth)
    seen.set(value, renumbered)
    return renumbered
  }

  function walkObject(value: object, address: string | undefined, depth: number): Json {
    const result = new Map<string, Json>()
    for (const [key, field] of Object.entries(value) as readonly (readonly [string, Json])[]) {
      const name = uniqueKey(renumberText(key, numbers), result)
      if (listKeys.has(key) && Array.isArray(field)) result.set(name, renumberList(field, numbers))
      else if (key !== 'sid' || sidOf(field) === undefined) result.set(name, walk(field, key, depth + 1))
      else {
        const sid = sidInPool({ ...value, sid: field }, address, numbers)
        if (sid !== undefined) result.set(name, sid)
      }
    }
    return Object.fromEntries(result)
  }

  return walk(root, undefined, 0)
}

/**
 * The SID for an object with a `sid`. If the object has a URL, or is the value of a key that is a URL, the source with this URL is looked
 * up. Otherwise the number in `sid` is looked up.
 */
function sidInPool(row: { readonly [field: string]: unknown }, key: string | undefined, { bySid, byKey }: PoolNumbers): number | undefined {
  const url = addressOf(row) ?? (isWebAddress(key) ? key : undefined)
  return url === undefined ? bySid.get(sidOf(row.sid) ?? 0) : byKey.get(sourceKey({ url }))
}

/**
 * Makes a key unique by a suffix, such as `name (2)`. A key may contain citations, so two keys may become equal when numbers are replaced
 * by SIDs. Without the suffix, one value would overwrite the other.
 */
function uniqueKey(key: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 2, unique = key; ; unique = `${key} (${number++})`) if (!taken.has(unique)) return unique
}

/**
 * The outcome with the SIDs that its sources have in this pool. These SIDs may differ from those in the outcome if other sources were added
 * to the pool after the tool returned.
 */
export function withCurrentNumbers(outcome: DeliveredOutcome, pool: SourcePool): DeliveredOutcome {
  const numbers = poolNumbersOf(outcome, pool)
  const isCurrent = numbers?.sources.every(({ sid }, index) => [sid, undefined].includes(outcome.sources?.[index]?.sid)) ?? true
  return numbers && !isCurrent ? withPoolNumbers(outcome, numbers) : outcome
}

/** The change that adds the sources of an outcome to the pool. Empty when the pool has all of them. */
export function mergeSourcesChange(pool: SourcePool, { sources }: DeliveredOutcome, ts: string): readonly Change[] {
  if (sources === undefined || sources.length === 0) return noChanges
  const { pool: merged, changed } = mergeSources(pool, sources)
  return changed.length === 0 ? noChanges : [{ type: 'sources.merged', ts, rows: changed, next_sid: merged.next_sid }]
}

const noChanges: readonly Change[] = []
