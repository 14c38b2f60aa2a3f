import { type Snippet, snippetsOf, type TurnFact, turnFactsOf } from '../../../../core/recall/snippets.ts'
import { speakerTermsOf } from '../../../../core/recall/speakers.ts'
import { termsOf } from '../../../../core/recall/terms.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import {
  CHUNK,
  DOCUMENT_BYTES,
  GROUP,
  type IndexWriter,
  POSTING_BYTES,
  type PostingKey,
  roleIds,
  type StoredSnippet,
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

/**
 * Adds entries of a conversation to the index. A snippet that is already there is not added again. The postings of a term are collected, so
 * that each row is written once.
 */
export function indexEntries(
  tables: IndexWriter,
  { folder, conversation }: { readonly folder: string; readonly conversation: number },
  entries: readonly IndexedEntry[],
): void {
  for (const { seq, facts } of entries) for (const fact of facts) tables.noteTurn(conversation, seq, fact)
  if (entries.every(({ snippets }) => snippets.length === 0)) return
  const owner = tables.findOwner(folder) ?? tables.createOwner(folder)
  const documents = createBatch<number>()
  const postings = createBatch<string>()
  let next = owner.next
  for (const { seq, snippets } of entries)
    for (const { snippet, counts } of snippets) {
      if (!tables.insertSnippet({ ...snippet, owner: owner.key, number: next, conversation, seq })) continue
      const [chunk, place] = [Math.floor(next / CHUNK), next % CHUNK]
      let length = 0
      for (const [term, count] of counts) {
        length += count
        postings.add(chunk, term, [place >> 8, place & 255, Math.min(255, count)])
      }
      documents.add(0, Math.floor(next / GROUP), documentOf(snippet, conversation, length))
      next++
    }
  for (const [, group, bytes] of documents) tables.appendDocuments(owner.key, group, bytes)
  for (const [chunk, term, bytes] of postings) tables.appendPostings({ owner: owner.key, term: termKey(term), chunk }, bytes)
  if (next > owner.next) tables.saveOwner({ ...owner, next, snippets: owner.snippets + next - owner.next })
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
export function removeSnippets(tables: IndexWriter, folder: string, snippets: readonly StoredSnippet[]): void {
  const owner = tables.findOwner(folder)
  const places = new Map<string, { readonly key: PostingKey; readonly removed: Set<number> }>()
  for (const snippet of snippets) {
    tables.removeSnippet(snippet)
    if (snippet.owner !== owner?.key) continue // in a damaged index, the owner and its postings may be missing
    const [chunk, place] = [Math.floor(snippet.number / CHUNK), snippet.number % CHUNK]
    for (const term of countTerms(snippet.text).keys()) {
      const list = places.get(`${chunk} ${term}`) ?? { key: { owner: owner.key, term: termKey(term), chunk }, removed: new Set<number>() }
      places.set(`${chunk} ${term}`, list)
      list.removed.add(place)
    }
    removeDocument(tables, snippet)
  }
  if (!owner) return
  for (const { key, removed } of places.values()) removePostings(tables, key, removed)
  const left = owner.snippets - snippets.filter((snippet) => snippet.owner === owner.key).length
  if (left <= 0) tables.removeOwner(owner.key)
  else tables.saveOwner({ ...owner, snippets: left })
}

function removePostings(tables: IndexWriter, key: PostingKey, removed: ReadonlySet<number>): void {
  const body = tables.readPostings(key)
  if (!body) return
  const kept = new Uint8Array(body.length)
  let size = 0
  for (let at = 0; at < body.length; at += POSTING_BYTES) {
    if (removed.has(placeAt(body, at))) continue
    kept.set(body.subarray(at, at + POSTING_BYTES), size)
    size += POSTING_BYTES
  }
  tables.writePostings(key, kept.subarray(0, size))
}

/** The position of a snippet in its chunk. The posting of the snippet begins at `at`. */
export const placeAt = (postings: Uint8Array, at: number): number => ((postings[at] as number) << 8) | (postings[at + 1] as number)

/** Overwrites the document with zeros. Its place is not used again. */
function removeDocument(tables: IndexWriter, { owner, number }: StoredSnippet): void {
  const [group, place] = [Math.floor(number / GROUP), number % GROUP]
  const body = tables.readDocuments(owner, group)
  if (body) tables.writeDocuments(owner, group, new Uint8Array(body).fill(0, place * DOCUMENT_BYTES, (place + 1) * DOCUMENT_BYTES))
}
