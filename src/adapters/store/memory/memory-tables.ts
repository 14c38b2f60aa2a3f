import {
  type DocumentRow,
  type IndexReader,
  type IndexWriter,
  isLookupUse,
  type Owner,
  type PlacedSnippet,
  POSTING_BYTES,
  type PostingRow,
  partKey,
  type StoredSnippet,
  usesOf,
} from '../shared/recall/tables.ts'
import type { StoredModel, VectorTables } from '../shared/recall/vectors.ts'

const CHUNK = 4_096

type Tables = IndexWriter & Omit<IndexReader, 'conversationKey'> & { readonly vectorTables: VectorTables }

/** The tables of the memory index, in maps. `idOf` returns the id of the conversation with a key. */
export function createMemoryTables(idOf: (conversation: number) => string | undefined): Tables & {
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
  /** The bits of what each turn did. */
  const turns = new Map<number, Map<string, number>>()
  /** By owner and number. */
  const vectors = new Map<string, { readonly model: number; readonly body: Uint8Array }>()
  let model: StoredModel | undefined
  let nextKey = 1

  const listOf = (conversation: number) => [...(ofConversation.get(conversation)?.values() ?? [])].sort(inOrder)

  function postingsOf({ key: owner, next }: Owner, term: number): readonly PostingRow[] {
    const chunks = Array.from({ length: Math.ceil(next / CHUNK) }, (_, chunk) => chunk)
    return chunks.flatMap((chunk) => {
      const body = postings.get(placeOf(owner, { term, chunk }))
      return body ? [{ term, chunk, body }] : []
    })
  }

  const placed = (snippet: StoredSnippet): PlacedSnippet => ({
    ...snippet,
    conversationId: idOf(snippet.conversation),
    isLookup: isLookupUse(turns.get(snippet.conversation)?.get(snippet.turnId)),
  })

  return {
    chunk: CHUNK,
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
    findParts: (conversation) => new Set(ofConversation.get(conversation)?.keys()),
    insertSnippets(added) {
      for (const snippet of added) {
        const known = ofConversation.get(snippet.conversation) ?? new Map<string, StoredSnippet>()
        ofConversation.set(snippet.conversation, known.set(partKey(snippet), snippet))
        snippets.set(`${snippet.owner} ${snippet.number}`, snippet)
      }
    },
    removeSnippets(removed) {
      for (const snippet of removed) {
        const place = `${snippet.owner} ${snippet.number}`
        snippets.delete(place)
        vectors.delete(place)
        ofConversation.get(snippet.conversation)?.delete(partKey(snippet))
      }
    },
    appendPostings(owner, rows) {
      for (const row of rows) append(postings, placeOf(owner, row), row.body)
    },
    readPostings: (owner, keys) =>
      keys.flatMap(({ term, chunk }) => {
        const body = postings.get(placeOf(owner, { term, chunk }))
        return body ? [{ term, chunk, body }] : []
      }),
    writePostings(owner, rows) {
      for (const row of rows) replace(postings, placeOf(owner, row), row.body)
    },
    appendDocuments(owner, rows) {
      for (const { group, body } of rows) append(documents, `${owner} ${group}`, body)
    },
    readDocuments: (owner, groups) =>
      groups.flatMap((group) => {
        const body = documents.get(`${owner} ${group}`)
        return body ? [{ group, body }] : []
      }),
    writeDocuments(owner, rows) {
      for (const { group, body } of rows) replace(documents, `${owner} ${group}`, body)
    },
    noteTurns(conversation, rows) {
      const known = turns.get(conversation) ?? new Map<string, number>()
      turns.set(conversation, known)
      for (const { turnId, ...facts } of rows) known.set(turnId, (known.get(turnId) ?? 0) | usesOf(facts))
    },

    postings: (owner, terms) =>
      terms.flatMap(({ term, atMost = Number.POSITIVE_INFINITY }) => {
        const rows = postingsOf(owner, term)
        return rows.reduce((sum, { body }) => sum + body.length / POSTING_BYTES, 0) > atMost ? [] : rows
      }),
    documents(owner, from) {
      const rows: DocumentRow[] = []
      for (let group = from; ; group++) {
        const body = documents.get(`${owner} ${group}`)
        if (!body) return rows
        rows.push({ group, body })
      }
    },
    snippets: (owner, numbers) =>
      numbers.flatMap((number) => {
        const snippet = snippets.get(`${owner} ${number}`)
        return snippet ? [placed(snippet)] : []
      }),
    vectors(owner, wanted, from, limit) {
      const found = [...snippets.values()].filter((snippet) => snippet.owner === owner && snippet.number >= from)
      return found
        .flatMap(({ number }) => {
          const vector = vectors.get(`${owner} ${number}`)
          return vector?.model === wanted ? [{ number, body: vector.body }] : []
        })
        .slice(0, limit)
    },
    snippetsOfTurn(conversation, ordinal) {
      const turn = [...(turns.get(conversation)?.keys() ?? [])][ordinal - 1]
      return listOf(conversation)
        .filter(({ turnId }) => turnId === turn)
        .map(placed)
    },
    vectorTables: {
      model: () => model,
      replaceModel(name, dimensions) {
        model = { key: (model?.key ?? 0) + 1, name, dimensions }
        return model
      },
      missing: (wanted, limit) =>
        [...snippets.values()].filter(({ owner, number }) => vectors.get(`${owner} ${number}`)?.model !== wanted).slice(0, limit),
      save(key, rows) {
        for (const { owner, number, body } of rows)
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

const placeOf = (owner: number, { term, chunk }: Omit<PostingRow, 'body'>): string => `${owner} ${term} ${chunk}`

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
