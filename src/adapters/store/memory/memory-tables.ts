import {
  CHUNK,
  type ChunkPostings,
  type IndexReader,
  type IndexWriter,
  type Owner,
  POSTING_BYTES,
  type PostingKey,
  type StoredSnippet,
} from '../shared/recall/tables.ts'
import type { StoredModel, VectorTables } from '../shared/recall/vectors.ts'

interface TurnState {
  readonly turnId: string
  searched: boolean
  worked: boolean
}

type Tables = IndexWriter & Omit<IndexReader, 'conversationKey' | 'conversationId'> & { readonly vectorTables: VectorTables }

/** The tables of the memory index, in maps. */
export function createMemoryTables(): Tables & {
  snippetsOf(conversation: number): readonly StoredSnippet[]
  /** Removes the remaining rows of a conversation whose snippets were removed. */
  forgetConversation(conversation: number): void
} {
  const owners = new Map<string, Owner>()
  /** By owner and number. */
  const snippets = new Map<string, StoredSnippet>()
  /** The snippets of each conversation by block and part, in the order in which they were added. */
  const ofConversation = new Map<number, Map<string, StoredSnippet>>()
  const postings = new Map<string, Uint8Array>()
  const documents = new Map<string, Uint8Array>()
  const turns = new Map<number, Map<string, TurnState>>()
  /** By owner and number. */
  const vectors = new Map<string, { readonly model: number; readonly body: Uint8Array }>()
  let model: StoredModel | undefined
  let nextKey = 1

  const listOf = (conversation: number) => [...(ofConversation.get(conversation)?.values() ?? [])].sort(inOrder)

  function readPostings({ key: owner, next }: Owner, term: number): readonly ChunkPostings[] {
    const chunks = Array.from({ length: Math.ceil(next / CHUNK) }, (_, chunk) => chunk)
    return chunks.flatMap((chunk) => {
      const body = postings.get(placeOf({ owner, term, chunk }))
      return body ? [{ chunk, body }] : []
    })
  }

  return {
    findOwner: (folder) => owners.get(folder),
    createOwner(folder) {
      const owner = { key: nextKey++, folder, next: 0, snippets: 0 }
      owners.set(folder, owner)
      return owner
    },
    saveOwner: (owner) => void owners.set(owner.folder, owner),
    removeOwner(key) {
      for (const place of documents.keys()) if (place.startsWith(`${key} `)) documents.delete(place)
      for (const [folder, owner] of owners) if (owner.key === key) owners.delete(folder)
    },
    insertSnippet(snippet) {
      const known = ofConversation.get(snippet.conversation) ?? new Map<string, StoredSnippet>()
      const place = `${snippet.block} ${snippet.part}`
      if (known.has(place)) return false
      ofConversation.set(snippet.conversation, known.set(place, snippet))
      snippets.set(`${snippet.owner} ${snippet.number}`, snippet)
      return true
    },
    removeSnippet({ owner, number, conversation, block, part }) {
      snippets.delete(`${owner} ${number}`)
      vectors.delete(`${owner} ${number}`)
      ofConversation.get(conversation)?.delete(`${block} ${part}`)
    },
    appendPostings: (key, added) => append(postings, placeOf(key), added),
    readPostings: (key) => postings.get(placeOf(key)),
    writePostings: (key, body) => replace(postings, placeOf(key), body),
    appendDocuments: (owner, group, added) => append(documents, `${owner} ${group}`, added),
    readDocuments: (owner, group) => documents.get(`${owner} ${group}`),
    writeDocuments: (owner, group, body) => replace(documents, `${owner} ${group}`, body),
    noteTurn(conversation, _seq, { turnId, searched, worked }) {
      const known = turns.get(conversation) ?? new Map<string, TurnState>()
      turns.set(conversation, known)
      const state = known.get(turnId) ?? { turnId, searched: false, worked: false }
      known.set(turnId, { turnId, searched: state.searched || searched, worked: state.worked || worked })
    },

    postings: readPostings,
    countPostings: (owner, term) => readPostings(owner, term).reduce((sum, { body }) => sum + body.length / POSTING_BYTES, 0),
    documents(owner, from) {
      const rows = []
      for (let group = from; ; group++) {
        const body = documents.get(`${owner} ${group}`)
        if (!body) return rows
        rows.push({ group, body })
      }
    },
    snippet: (owner, number) => snippets.get(`${owner} ${number}`),
    vectors(owner, wanted, from, limit) {
      const found = [...snippets.values()].filter((snippet) => snippet.owner === owner && snippet.number >= from)
      return found
        .flatMap(({ number }) => {
          const vector = vectors.get(`${owner} ${number}`)
          return vector?.model === wanted ? [{ number, body: vector.body }] : []
        })
        .slice(0, limit)
    },
    isLookup(conversation, turnId) {
      const state = turns.get(conversation)?.get(turnId)
      return state?.searched === true && !state.worked
    },
    snippetsOfTurn(conversation, ordinal) {
      const turn = [...(turns.get(conversation)?.keys() ?? [])][ordinal - 1]
      return listOf(conversation).filter(({ turnId }) => turnId === turn)
    },
    vectorTables: {
      model: () => model,
      replaceModel(name, dimensions) {
        model = { key: (model?.key ?? 0) + 1, name, dimensions }
        return model
      },
      missing: (wanted, limit) =>
        [...snippets.values()].filter(({ owner, number }) => vectors.get(`${owner} ${number}`)?.model !== wanted).slice(0, limit),
      save(key, owner, number, body) {
        if (snippets.has(`${owner} ${number}`)) vectors.set(`${owner} ${number}`, { model: key, body: body.slice() })
      },
      count: (key) => ({ done: [...vectors.values()].filter((vector) => vector.model === key).length, all: snippets.size }),
    },
    snippetsOf: listOf,
    forgetConversation(conversation) {
      ofConversation.delete(conversation)
      turns.delete(conversation)
    },
  }
}

const inOrder = (a: StoredSnippet, b: StoredSnippet): number => a.block - b.block || a.part - b.part

const placeOf = ({ owner, term, chunk }: PostingKey): string => `${owner} ${term} ${chunk}`

function append(table: Map<string, Uint8Array>, place: string, added: Uint8Array): void {
  const before = table.get(place) ?? new Uint8Array()
  const body = new Uint8Array(before.length + added.length)
  body.set(before)
  body.set(added, before.length)
  table.set(place, body)
}

/** An empty body removes the row. */
function replace(table: Map<string, Uint8Array>, place: string, body: Uint8Array): void {
  if (body.length > 0) table.set(place, body)
  else table.delete(place)
}
