import { answered, type Steps } from './steps.ts'
import { DOCUMENT_BYTES, GROUP, type IndexReader, type Owner, roleIds, type StoredSnippet } from './tables.ts'
import { secondsOf } from './write.ts'

/** The documents of an owner, in columns. The number of a snippet is its position. A removed snippet has the role 0. */
export interface Documents {
  /** How many positions are used, including the positions of removed snippets. */
  readonly next: number
  /** How many positions have a snippet. */
  readonly snippets: number
  /** The position of the conversation in `conversations`. */
  readonly conversation: Uint32Array
  /** Seconds since 1970. */
  readonly seconds: Uint32Array
  /** How many terms the snippet has. */
  readonly length: Uint16Array
  readonly role: Uint8Array
  /** The snippets directly before and after, in the same conversation. −1 if there is no such snippet. */
  readonly before: Int32Array
  readonly after: Int32Array
  readonly conversations: readonly ConversationDocuments[]
  /** How many terms all snippets have together. */
  readonly terms: number
  /** Arrays for scores that no search uses at the moment. See `takeScores`. */
  readonly unused: Scores[]
}

/** Two arrays for the scores of a search. */
export type Scores = readonly [Float32Array, Float32Array]

/** Takes arrays that no other search uses. Return them with `returnScores`, so that the next search need not create new ones. */
export const takeScores = ({ unused, next }: Documents): Scores => unused.pop() ?? [new Float32Array(next), new Float32Array(next)]

export function returnScores({ unused }: Documents, scores: Scores): void {
  if (unused.length === 0) unused.push(scores)
}

/** The documents of one conversation together. */
export interface ConversationDocuments {
  readonly key: number
  readonly terms: number
  /** How many of `terms` are in answers. */
  readonly answered: number
  /** The number of the last snippet. */
  readonly last: number
}

/** How many documents of all owners together are kept in memory. One document takes 27 bytes. */
const MAX_CACHED = 1_000_000

/**
 * Whether the document of a snippet describes the stored snippet. Otherwise the documents were cached before a crash of the database server.
 * The crash has undone commits of the index that were not yet on the disk, and the keys and numbers were then used for other snippets.
 */
export function isDescribed({ conversation, conversations, seconds, role }: Documents, snippet: StoredSnippet): boolean {
  const { number } = snippet
  return (
    conversations[conversation[number] ?? -1]?.key === snippet.conversation >>> 0 && // documents have the lowest 32 bits of the key
    role[number] === roleIds[snippet.role] &&
    seconds[number] === secondsOf(snippet.ts)
  )
}

/**
 * Reads the documents of owners, and caches the documents that were used last. If `next` and `snippets` of an owner have not changed, its
 * documents have not changed either, because numbers and keys are not used again, except after a crash of the database server (see
 * `isDescribed`). If an owner has only got more snippets, only the new documents are read.
 */
export function createDocumentCache() {
  const cache = new Map<number, Documents>()
  let cached = 0

  function keep(key: number, documents: Documents): void {
    cached += documents.next - (cache.get(key)?.next ?? 0)
    cache.delete(key)
    cache.set(key, documents)
    for (const [other, { next }] of cache) {
      if (cached <= MAX_CACHED || other === key) break
      cache.delete(other)
      cached -= next
    }
  }

  return {
    *read(tables: IndexReader, owner: Owner): Steps<Documents> {
      const known = cache.get(owner.key)
      const isCurrent = known?.next === owner.next && known.snippets === owner.snippets
      const hasGrown = known !== undefined && owner.next > known.next && owner.snippets - known.snippets === owner.next - known.next
      const documents = isCurrent ? known : yield* readDocuments(tables, owner, hasGrown ? known : undefined)
      keep(owner.key, documents)
      return documents
    },
    /** Makes the next `read` read all documents of this owner. */
    forget({ key }: Owner): void {
      cached -= cache.get(key)?.next ?? 0
      cache.delete(key)
    },
  }
}

function* readDocuments(tables: IndexReader, { key: owner, next, snippets }: Owner, known: Documents | undefined): Steps<Documents> {
  const first = known?.next ?? 0
  const conversation = grow(Uint32Array, known?.conversation, first, next)
  const seconds = grow(Uint32Array, known?.seconds, first, next)
  const length = grow(Uint16Array, known?.length, first, next)
  const role = grow(Uint8Array, known?.role, first, next)
  const before = grow(Int32Array, known?.before, first, next).fill(-1, first)
  const after = grow(Int32Array, known?.after, first, next).fill(-1, first)
  const conversations = known ? [...known.conversations] : []
  const positions = new Map(conversations.map(({ key }, position) => [key, position]))
  let terms = known?.terms ?? 0
  for (const { group, body } of yield* answered(tables.documents(owner, Math.floor(first / GROUP)))) {
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
    for (let at = 0; at < body.length; at += DOCUMENT_BYTES) {
      const number = group * GROUP + at / DOCUMENT_BYTES
      const id = view.getUint8(at + 10)
      if (number < first || number >= next || id === 0) continue
      const key = view.getUint32(at)
      const position = positions.get(key) ?? conversations.length
      positions.set(key, position)
      const last = conversations[position]?.last ?? -1
      const size = view.getUint16(at + 8)
      conversation[number] = position
      seconds[number] = view.getUint32(at + 4)
      length[number] = size
      role[number] = id
      before[number] = last
      if (last >= 0) after[last] = number
      terms += size
      const answer = id === roleIds.assistant ? size : 0
      const { terms: termsBefore, answered } = conversations[position] ?? { terms: 0, answered: 0 }
      conversations[position] = { key, terms: termsBefore + size, answered: answered + answer, last: number }
    }
  }
  return { next, snippets, conversation, seconds, length, role, before, after, conversations, terms, unused: [] }
}

type Column = Uint32Array | Uint16Array | Uint8Array | Int32Array

/** A column with room for `next` values, whose first values are those of `known`. */
function grow<T extends Column>(type: new (length: number) => T, known: Column | undefined, first: number, next: number): T {
  const column = new type(next)
  if (known) column.set(known.subarray(0, first))
  return column
}
