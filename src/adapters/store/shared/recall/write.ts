import { type Snippet, snippetsOf, type TurnFact, turnFactsOf } from '../../../../core/recall/snippets.ts'
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

/** What the index stores of one entry. It is computed before the transaction, because other writers wait for a transaction. */
export interface IndexedEntry {
  readonly snippets: readonly AnalysedSnippet[]
  readonly facts: readonly TurnFact[]
}

interface AnalysedSnippet extends Snippet {
  /** How often the snippet has each of its terms. */
  readonly counts: ReadonlyMap<string, number>
}

const nothing: IndexedEntry = { snippets: [], facts: [] }

/** Undefined parts are left out, so that most entries cost nothing. */
export function analyseEntry(change: Change): IndexedEntry {
  const snippets = snippetsOf(change)
  const facts = turnFactsOf(change)
  if (snippets.length === 0 && facts.length === 0) return nothing
  return { snippets: snippets.map((snippet) => ({ ...snippet, counts: countTerms(snippet.text) })), facts }
}

function countTerms(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const term of termsOf(text)) counts.set(term, (counts.get(term) ?? 0) + 1)
  return counts
}

const lengthOf = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, count) => sum + count, 0)

/** Adds an entry to the index. A snippet that is already there is not added again. */
export function indexEntry(
  tables: IndexWriter,
  { folder, conversation, seq }: { readonly folder: string; readonly conversation: number; readonly seq: number },
  { snippets, facts }: IndexedEntry,
): void {
  for (const fact of facts) tables.noteTurn(conversation, seq, fact)
  for (const { counts, ...snippet } of snippets) {
    const owner = tables.findOwner(folder) ?? tables.createOwner(folder)
    const number = owner.next
    if (!tables.insertSnippet({ ...snippet, owner: owner.key, number, conversation, seq })) continue
    const length = lengthOf(counts)
    const known = tables.conversation(conversation)
    const state = known ?? { conversation, owner: owner.key, snippets: 0, terms: 0 }
    tables.saveConversation({ ...state, snippets: state.snippets + 1, terms: state.terms + length })
    tables.saveOwner({
      ...owner,
      next: number + 1,
      snippets: owner.snippets + 1,
      terms: owner.terms + length,
      conversations: owner.conversations + (known ? 0 : 1),
    })
    const [chunk, place] = [Math.floor(number / CHUNK), number % CHUNK]
    tables.appendDocument(owner.key, Math.floor(number / GROUP), documentOf(snippet, conversation, length))
    for (const [term, count] of counts)
      tables.appendPosting({ owner: owner.key, chunk, term: termKey(term) }, Uint8Array.of(place >> 8, place & 255, Math.min(255, count)))
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

/** Seconds since 1970, within 32 bits. An invalid time counts as 1970. */
export const secondsOf = (ts: string): number => Math.min(0xffff_ffff, Math.max(0, Math.floor(Date.parse(ts) / 1_000) || 0))

/** Removes snippets, and their owner when no snippet is left. */
export function removeSnippets(tables: IndexWriter, folder: string, snippets: readonly StoredSnippet[]): void {
  for (const snippet of snippets) {
    const owner = tables.findOwner(folder)
    const state = tables.conversation(snippet.conversation)
    if (!owner || !state) {
      tables.removeSnippet(snippet) // its postings are gone, so the rest of a damaged index can be removed
      continue
    }
    const counts = countTerms(snippet.text)
    const [chunk, place] = [Math.floor(snippet.number / CHUNK), snippet.number % CHUNK]
    for (const term of counts.keys()) removePosting(tables, { owner: owner.key, chunk, term: termKey(term) }, place)
    removeDocument(tables, snippet)
    tables.removeSnippet(snippet)
    const length = lengthOf(counts)
    const isLast = state.snippets === 1
    if (isLast) tables.removeConversation(snippet.conversation)
    else tables.saveConversation({ ...state, snippets: state.snippets - 1, terms: state.terms - length })
    if (owner.snippets === 1) tables.removeOwner(owner.key)
    else {
      const conversations = owner.conversations - (isLast ? 1 : 0)
      tables.saveOwner({ ...owner, snippets: owner.snippets - 1, terms: owner.terms - length, conversations })
    }
  }
}

function removePosting(tables: IndexWriter, key: PostingKey, place: number): void {
  const body = tables.readPostings(key)
  if (!body) return
  const kept: number[] = []
  for (let at = 0; at < body.length; at += POSTING_BYTES)
    if (placeAt(body, at) !== place) kept.push(...body.subarray(at, at + POSTING_BYTES))
  tables.writePostings(key, Uint8Array.from(kept))
}

/** The place, in its chunk, of the snippet whose posting begins at `at`. */
export const placeAt = (postings: Uint8Array, at: number): number => ((postings[at] as number) << 8) | (postings[at + 1] as number)

/** Overwrites the document with zeros. Its place is not used again. */
function removeDocument(tables: IndexWriter, { owner, number }: StoredSnippet): void {
  const [group, place] = [Math.floor(number / GROUP), number % GROUP]
  const body = tables.readDocuments(owner, group)
  if (body) tables.writeDocuments(owner, group, new Uint8Array(body).fill(0, place * DOCUMENT_BYTES, (place + 1) * DOCUMENT_BYTES))
}
