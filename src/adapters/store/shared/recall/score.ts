import { CHUNK, DOCUMENT_BYTES, GROUP, type IndexReader, type Owner, POSTING_BYTES, termKey } from './tables.ts'
import { placeAt } from './write.ts'

/** A term to look for, and how much it counts. */
export interface WeightedTerm {
  readonly term: string
  readonly weight: number
}

/** Which documents may be found. */
export interface DocumentFilter {
  /** Only this conversation. */
  readonly conversation?: number
  /** The ids of the accepted roles, as bits: role 2 is the bit 4. */
  readonly roles: number
  /** In seconds since 1970. `to` is exclusive. */
  readonly from: number
  readonly to: number
}

/** A snippet with its score. `conversation` is the key of the conversation. */
export interface ScoredDocument {
  readonly number: number
  readonly conversation: number
  readonly score: number
}

export interface Scores {
  /** The best documents, best first. */
  readonly documents: readonly ScoredDocument[]
  /** For each of the best conversations: the score of all its texts taken as one. */
  readonly conversations: ReadonlyMap<number, number>
}

/** The parameters of BM25. A conversation is long, so how often it has a term says more. */
const [K1, B] = [1.2, 0.6]
const CONVERSATION_K1 = 2
/** How many documents and conversations are kept. */
const KEPT_DOCUMENTS = 256
const KEPT_CONVERSATIONS = 64

interface ConversationCounts {
  best: number
  readonly counts: Float64Array
}

/** The postings of one term, with the chunk that each list belongs to. */
interface TermPostings {
  readonly chunk: number
  readonly body: Uint8Array
}

/** Reads the postings and documents of one owner. Each row is read once, because a search scores twice. */
export function createOwnerReader(tables: IndexReader, owner: Owner) {
  const chunks = Math.ceil(owner.next / CHUNK)
  const postings = new Map<string, readonly TermPostings[]>()
  const documents = new Map<number, DataView>()

  function readPostings(term: string): readonly TermPostings[] {
    const found: TermPostings[] = []
    for (let chunk = 0; chunk < chunks; chunk++) {
      const body = tables.postings({ owner: owner.key, chunk, term: termKey(term) })
      if (body) found.push({ chunk, body })
    }
    return found
  }

  return {
    owner,
    conversation: tables.conversation,
    postings(term: string): readonly TermPostings[] {
      const known = postings.get(term)
      if (known) return known
      const found = readPostings(term)
      postings.set(term, found)
      return found
    },
    /** The documents of a chunk. Places without a document are zero. */
    documents(chunk: number): DataView {
      const known = documents.get(chunk)
      if (known) return known
      const bytes = new Uint8Array(CHUNK * DOCUMENT_BYTES)
      const groups = CHUNK / GROUP
      for (let n = 0; n < groups; n++) bytes.set(tables.documents(owner.key, chunk * groups + n) ?? [], n * GROUP * DOCUMENT_BYTES)
      const view = new DataView(bytes.buffer)
      documents.set(chunk, view)
      return view
    },
  }
}

export type OwnerReader = ReturnType<typeof createOwnerReader>

/**
 * Scores all documents of an owner that have one of the terms, with BM25. It goes through the chunks one by one and adds up the scores of
 * the documents of a chunk in an array, which takes a few nanoseconds per posting.
 */
export function scoreDocuments(reader: OwnerReader, terms: readonly WeightedTerm[], filter: DocumentFilter): Scores {
  const { owner } = reader
  const lists = terms.map(({ term, weight }) => {
    const rows = reader.postings(term)
    const documents = rows.reduce((sum, { body }) => sum + body.length / POSTING_BYTES, 0)
    return { term, weight, rows, rarity: rarityOf(documents, owner.snippets) }
  })
  const byChunk = new Map<number, { readonly index: number; readonly factor: number; readonly body: Uint8Array }[]>()
  for (const [index, { rows, weight, rarity }] of lists.entries())
    for (const { chunk, body } of rows) {
      const parts = byChunk.get(chunk)
      const part = { index, factor: weight * rarity * (K1 + 1), body }
      if (parts) parts.push(part)
      else byChunk.set(chunk, [part])
    }
  const averageLength = Math.max(1, owner.terms / Math.max(1, owner.snippets))
  const conversations = new Map<number, ConversationCounts>()
  const best = createBest()
  const sums = new Float64Array(CHUNK)
  for (const [chunk, parts] of byChunk) {
    const view = reader.documents(chunk)
    sums.fill(0)
    for (const { index, factor, body } of parts) {
      for (let at = 0; at < body.length; at += POSTING_BYTES) {
        const place = placeAt(body, at)
        if (!accepts(view, place, filter)) continue
        const count = body[at + 2] as number
        const length = view.getUint16(place * DOCUMENT_BYTES + 8)
        sums[place] = (sums[place] as number) + (factor * count) / (count + K1 * (1 - B + (B * length) / averageLength))
        const counts = countsOf(conversations, view.getUint32(place * DOCUMENT_BYTES), lists.length)
        counts[index] = (counts[index] as number) + count
      }
    }
    for (let place = 0; place < CHUNK; place++) {
      const score = sums[place] as number
      if (score === 0) continue
      const conversation = view.getUint32(place * DOCUMENT_BYTES)
      const known = conversations.get(conversation)
      if (known && score > known.best) known.best = score
      best.add({ number: chunk * CHUNK + place, conversation, score })
    }
  }
  return { documents: best.sorted(), conversations: scoreConversations(reader, lists, conversations) }
}

const rarityOf = (documents: number, all: number): number => Math.log(1 + (Math.max(0, all - documents) + 0.5) / (documents + 0.5))

/** Whether the filter accepts a document. A removed document has no role. */
function accepts(view: DataView, place: number, { conversation, roles, from, to }: DocumentFilter): boolean {
  const at = place * DOCUMENT_BYTES
  if ((roles & (1 << view.getUint8(at + 10))) === 0) return false
  if (conversation !== undefined && view.getUint32(at) !== conversation) return false
  const seconds = view.getUint32(at + 4)
  return seconds >= from && seconds < to
}

function countsOf(conversations: Map<number, ConversationCounts>, conversation: number, terms: number): Float64Array {
  const known = conversations.get(conversation)
  if (known) return known.counts
  const created = { best: 0, counts: new Float64Array(terms) }
  conversations.set(conversation, created)
  return created.counts
}

/** Scores the conversations with the best documents: all texts of a conversation are taken as one text. */
function scoreConversations(
  { owner, conversation: find }: OwnerReader,
  terms: readonly { readonly weight: number }[],
  found: ReadonlyMap<number, ConversationCounts>,
): ReadonlyMap<number, number> {
  const having = terms.map((_, index) => [...found.values()].reduce((sum, { counts }) => sum + ((counts[index] as number) > 0 ? 1 : 0), 0))
  const averageLength = Math.max(1, owner.terms / Math.max(1, owner.conversations))
  const kept = [...found].sort(([, a], [, b]) => b.best - a.best).slice(0, KEPT_CONVERSATIONS)
  return new Map(
    kept.map(([conversation, { counts }]) => {
      const length = find(conversation)?.terms ?? averageLength
      const score = terms.reduce((sum, { weight }, index) => {
        const count = counts[index] as number
        const saturated = (count * (CONVERSATION_K1 + 1)) / (count + CONVERSATION_K1 * (1 - B + (B * length) / averageLength))
        return sum + weight * rarityOf(having[index] as number, owner.conversations) * saturated
      }, 0)
      return [conversation, score] as const
    }),
  )
}

/** Keeps the best documents. It sorts only from time to time, so that adding one is cheap. */
function createBest() {
  let kept: ScoredDocument[] = []
  let lowest = 0
  const cut = () => {
    kept = kept.sort(byScore).slice(0, KEPT_DOCUMENTS)
    if (kept.length === KEPT_DOCUMENTS) lowest = kept.at(-1)?.score ?? 0
  }
  return {
    add(document: ScoredDocument): void {
      if (document.score <= lowest) return
      kept.push(document)
      if (kept.length >= 4 * KEPT_DOCUMENTS) cut()
    },
    sorted(): readonly ScoredDocument[] {
      cut()
      return kept
    },
  }
}

/** Best first. Of equal scores, the newer document comes first. */
const byScore = (a: ScoredDocument, b: ScoredDocument): number => b.score - a.score || b.number - a.number
