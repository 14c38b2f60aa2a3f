import type { Meta } from '../core/block/index.ts'
import { rewriteSids } from '../core/citations/sids.ts'
import { isObject, type Json, maximumJsonDepth, omitUndefined, parseJson } from '../core/json.ts'
import { mergeSources, type SourcePool, sourceKey } from '../core/sources/pool.ts'
import { sourceRowsIn } from '../core/sources/rows.ts'
import { addressOf, type IncomingSource, isWebAddress, parseToolSource, sidOf } from '../core/sources/source.ts'
import type { DeliveredOutcome } from './artifacts/deliver.ts'
import type { Outcome } from './tool.ts'

// A tool numbers the sources in each of its results from 1. The pool has one number, the SID, for each source of the conversation. This
// file replaces the numbers of the tool by SIDs before a result is shown. Otherwise a citation could lead to a source of another result.

/**
 * Parses the source rows of an outcome. If the tool gave no `sources`, rows in its output are used. Rows without an address are left out.
 */
export function withParsedSources(outcome: Outcome): Outcome {
  const given: unknown = outcome.sources
  if (given !== undefined) return withParts(outcome, { sources: Array.isArray(given) ? parseRows(given) : [] })
  const rows = rowsIn(outcome.output)
  return rows.length === 0 ? outcome : withParts(outcome, { sources: parseRows(rows) })
}

/**
 * The items of an output that consists of source rows. Otherwise all objects with a `sid` in the output, if one of them is a source row. If
 * the output is JSON text, it is parsed.
 */
function rowsIn(output: Json | undefined): readonly unknown[] {
  const value = typeof output === 'string' ? parseJson(output) : output
  if (sourceRowsIn(value).length > 0) return itemsOf(value)
  const numbered = numberedObjects(value)
  return sourceRowsIn(numbered).length > 0 ? numbered : []
}

/** All objects with a `sid`, at any depth. If an object is the value of a key that is a URL, the object gets this URL. */
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

/** The items of a list or of an object. If a key of the object is a URL, its item gets this URL. */
function itemsOf(output: Json | undefined): readonly unknown[] {
  if (!isObject(output)) return Array.isArray(output) ? output : []
  return Object.entries(output).map(([key, row]) =>
    isObject(row) ? { ...row, url: addressOf(row) ?? (isWebAddress(key) ? key : undefined) } : row,
  )
}

/**
 * The rows with an address. If a row with an address and a row without one have the same number, this number is removed, because a citation
 * may mean either row.
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
  /** The rows with their SIDs. */
  readonly sources: readonly IncomingSource[]
  /** Maps a number that the tool gave to a SID. A number that the tool gave to two different sources is not in the map. */
  readonly bySid: ReadonlyMap<number, number>
  readonly byKey: ReadonlyMap<string, number>
}

/** Finds the SIDs that the sources of an outcome have in the pool or will get. Undefined when the tool returned no rows. */
export function poolNumbersOf({ sources }: Pick<Outcome, 'sources'>, pool: SourcePool): PoolNumbers | undefined {
  if (sources === undefined) return undefined
  const { sids } = mergeSources(pool, sources)
  const bySid = new Map<number, number>()
  const ambiguous = new Set<number>()
  const byKey = new Map<string, number>()
  for (const [index, row] of sources.entries()) {
    const sid = sids[index] as number // there is one for each row
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
 * Replaces the numbers of the tool by SIDs in the citations of a text. Citations of unknown numbers are removed, also in code. Source rows
 * that the text contains as JSON are changed in place, because parsing and writing JSON again would change values such as long numbers.
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

/** An outcome before or after its files were stored and hosted. */
type AnyOutcome = Outcome & Pick<DeliveredOutcome, 'delivered'>

/**
 * Replaces the numbers of the tool by SIDs in an outcome: in its rows, in every `sid` of the output and in every citation. The content of
 * artifacts is changed later, when they are delivered.
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

/** Copies an outcome with other parts. The copy keeps the prototype by which outcomes are recognised. */
const withParts = <T extends object>(outcome: T, parts: Partial<T>): T =>
  Object.assign(Object.create(Object.getPrototypeOf(outcome)), outcome, parts)

interface Content {
  readonly text?: string
  readonly note?: string
  readonly meta?: Meta
}

/** Replaces the numbers in the text of a block or artifact, in its note, and in the list of sources in its `meta`. */
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

/** Replaces the numbers in a JSON value: in citations, in the `sid` of each object, and in lists of numbers. */
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
 * The SID for an object with a `sid`. If the object has a URL or is the value of a key that is a URL, the URL decides. Otherwise its number
 * decides.
 */
function sidInPool(row: { readonly [field: string]: unknown }, key: string | undefined, { bySid, byKey }: PoolNumbers): number | undefined {
  const url = addressOf(row) ?? (isWebAddress(key) ? key : undefined)
  return url === undefined ? bySid.get(sidOf(row.sid) ?? 0) : byKey.get(sourceKey({ url }))
}

/**
 * A key may contain citations, so two keys may become equal when their numbers are replaced. The later one gets a suffix. Otherwise its
 * value would replace the other.
 */
function uniqueKey(key: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 2, unique = key; ; unique = `${key} (${number++})`) if (!taken.has(unique)) return unique
}
