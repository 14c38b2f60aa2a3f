import { type Snippet, snippetsOf, type TurnFact, turnFactsOf } from '../../../../core/recall/snippets.ts'
import { speakerTermsOf } from '../../../../core/recall/speakers.ts'
import { termsOf } from '../../../../core/recall/terms.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import { answered, type Steps } from './steps.ts'
import {
  DOCUMENT_BYTES,
  GROUP,
  type IndexWriter,
  type Owner,
  POSTING_BYTES,
  partKey,
  roleIds,
  type StoredSnippet,
  type TurnRow,
  termKey,
} from './tables.ts'

/**
 * What the index stores of one entry. It is computed before the transaction begins, because other writers wait until a transaction ends.
 */
export interface IndexedEntry {
  readonly seq: number
  readonly snippets: readonly AnalysedSnippet[]
  readonly facts: readonly TurnFact[]
}

interface AnalysedSnippet {
  readonly snippet: Snippet
  /** How often the snippet has each of its terms. */
  readonly counts: ReadonlyMap<string, number>
}

/** The snippets of an entry with their terms. Most entries have none. */
export const analyseEntry = (seq: number, change: Change): IndexedEntry => ({
  seq,
  snippets: snippetsOf(change).map((snippet) => ({ snippet, counts: countTerms(snippet.text) })),
  facts: turnFactsOf(change),
})

function countTerms(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const term of termsOf(text)) counts.set(term, (counts.get(term) ?? 0) + 1)
  for (const term of speakerTermsOf(text)) counts.set(term, 1)
  return counts
}

/** Adds entries of a conversation to the index. A snippet that is already there is not added again. Each row is written once. */
export function* indexEntries(
  tables: IndexWriter,
  { folder, conversation }: { readonly folder: string; readonly conversation: number },
  entries: readonly IndexedEntry[],
): Steps<void> {
  const turns = turnsOf(entries)
  if (turns.length > 0) yield* answered(tables.noteTurns(conversation, turns))
  const found = entries.flatMap(({ seq, snippets }) => snippets.map((each) => ({ seq, ...each })))
  if (found.length === 0) return
  const blocks = new Set(found.map(({ snippet }) => snippet.block))
  const known = new Set(yield* answered(tables.findParts(conversation, [...blocks])))
  const added = found.filter(({ snippet }) => {
    const isNew = !known.has(partKey(snippet))
    known.add(partKey(snippet))
    return isNew
  })
  if (added.length === 0) return
  const owner = (yield* answered(tables.findOwner(folder))) ?? (yield* answered(tables.createOwner(folder)))
  const [postings, documents] = rowsOf(tables.chunk, owner, conversation, added)
  const stored = added.map(
    ({ seq, snippet }, n): StoredSnippet => ({ ...snippet, owner: owner.key, number: owner.next + n, conversation, seq }),
  )
  yield* answered(tables.insertSnippets(stored))
  yield* answered(tables.appendDocuments(owner.key, documents))
  yield* answered(tables.appendPostings(owner.key, postings))
  yield* answered(tables.saveOwner({ ...owner, next: owner.next + added.length, snippets: owner.snippets + added.length }))
}

/** The facts about each turn together, with the first entry of the turn. */
function turnsOf(entries: readonly IndexedEntry[]): readonly TurnRow[] {
  const turns = new Map<string, TurnRow>()
  for (const { seq, facts } of entries)
    for (const { turnId, searched, worked } of facts) {
      const known = turns.get(turnId) ?? { turnId, seq, searched, worked }
      turns.set(turnId, { ...known, searched: known.searched || searched, worked: known.worked || worked })
    }
  return [...turns.values()]
}

/** The postings and the documents of new snippets of an owner. */
function rowsOf(chunkSize: number, owner: Owner, conversation: number, added: readonly AnalysedSnippet[]) {
  const documents = createBatch<number>()
  const postings = createBatch<string>()
  let number = owner.next
  for (const { snippet, counts } of added) {
    const [chunk, place] = [Math.floor(number / chunkSize), number % chunkSize]
    let length = 0
    for (const [term, count] of counts) {
      length += count
      postings.add(chunk, term, [place >> 8, place & 255, Math.min(255, count)])
    }
    documents.add(0, Math.floor(number / GROUP), documentOf(snippet, conversation, length))
    number++
  }
  return [
    Array.from(postings, ([chunk, term, body]) => ({ chunk, term: termKey(term), body })),
    Array.from(documents, ([, group, body]) => ({ group, body })),
  ] as const
}

/** Collects the bytes of rows that have a key of two parts, so that each row is written once. */
function createBatch<Key>() {
  const collected = new Map<number, Map<Key, number[]>>()
  return {
    add(first: number, second: Key, bytes: Iterable<number>): void {
      const inner = collected.get(first) ?? new Map<Key, number[]>()
      collected.set(first, inner)
      const known = inner.get(second)
      if (known) known.push(...bytes)
      else inner.set(second, [...bytes])
    },
    *[Symbol.iterator](): Generator<readonly [number, Key, Uint8Array]> {
      for (const [first, inner] of collected) for (const [second, bytes] of inner) yield [first, second, Uint8Array.from(bytes)]
    },
  }
}

function documentOf({ role, ts }: Snippet, conversation: number, length: number): Uint8Array {
  const body = new Uint8Array(DOCUMENT_BYTES)
  const view = new DataView(body.buffer)
  view.setUint32(0, conversation)
  view.setUint32(4, secondsOf(ts))
  view.setUint16(8, Math.min(65_535, length))
  view.setUint8(10, roleIds[role])
  return body
}

/** Seconds since 1970, within 32 bits. The result for an invalid time is 0. */
export const secondsOf = (ts: string): number => Math.min(0xffff_ffff, Math.max(0, Math.floor(Date.parse(ts) / 1_000) || 0))

/** Removes snippets of an owner, and the owner when no snippet is left. */
export function* removeSnippets(tables: IndexWriter, folder: string, snippets: readonly StoredSnippet[]): Steps<void> {
  if (snippets.length === 0) return
  yield* answered(tables.removeSnippets(snippets))
  const owner = yield* answered(tables.findOwner(folder))
  if (!owner) return
  const removed = snippets.filter((snippet) => snippet.owner === owner.key) // in a damaged index, a snippet may have another owner
  yield* removePostings(tables, owner, removed)
  yield* removeDocuments(tables, owner, removed)
  const left = owner.snippets - removed.length
  if (left <= 0) yield* answered(tables.removeOwner(owner.key))
  else yield* answered(tables.saveOwner({ ...owner, snippets: left }))
}

function* removePostings(tables: IndexWriter, owner: Owner, snippets: readonly StoredSnippet[]): Steps<void> {
  const places = new Map<string, { readonly term: number; readonly chunk: number; readonly removed: Set<number> }>()
  for (const { number, text } of snippets) {
    const [chunk, place] = [Math.floor(number / tables.chunk), number % tables.chunk]
    for (const term of [...countTerms(text).keys()].map(termKey)) {
      const row = places.get(`${chunk} ${term}`) ?? { term, chunk, removed: new Set<number>() }
      places.set(`${chunk} ${term}`, row)
      row.removed.add(place)
    }
  }
  if (places.size === 0) return
  const rows = yield* answered(tables.readPostings(owner.key, [...places.values()]))
  const kept = rows.map(({ term, chunk, body }) => ({
    term,
    chunk,
    body: withoutPlaces(body, places.get(`${chunk} ${term}`)?.removed ?? new Set()),
  }))
  yield* answered(tables.writePostings(owner.key, kept))
}

function withoutPlaces(body: Uint8Array, removed: ReadonlySet<number>): Uint8Array {
  const kept = new Uint8Array(body.length)
  let size = 0
  for (let at = 0; at < body.length; at += POSTING_BYTES) {
    if (removed.has(placeAt(body, at))) continue
    kept.set(body.subarray(at, at + POSTING_BYTES), size)
    size += POSTING_BYTES
  }
  return kept.slice(0, size)
}

/** The position of a snippet in its chunk. The posting of the snippet begins at `at`. */
export const placeAt = (postings: Uint8Array, at: number): number => ((postings[at] as number) << 8) | (postings[at + 1] as number)

/** Overwrites the documents with zeros. Their places are not used again. */
function* removeDocuments(tables: IndexWriter, owner: Owner, snippets: readonly StoredSnippet[]): Steps<void> {
  const numbers = Map.groupBy(
    snippets.map(({ number }) => number),
    (number) => Math.floor(number / GROUP),
  )
  const rows = yield* answered(tables.readDocuments(owner.key, [...numbers.keys()]))
  const written = rows.map(({ group, body }) => {
    const changed = new Uint8Array(body)
    for (const number of numbers.get(group) ?? []) {
      const place = number % GROUP
      changed.fill(0, place * DOCUMENT_BYTES, (place + 1) * DOCUMENT_BYTES)
    }
    return { group, body: changed }
  })
  yield* answered(tables.writeDocuments(owner.key, written))
}
