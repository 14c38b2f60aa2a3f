import type { IndexedConversation, IndexReader, IndexWriter, Owner, PostingKey, StoredSnippet } from '../shared/recall/tables.ts'

interface TurnState {
  readonly turnId: string
  searched: boolean
  worked: boolean
}

type Tables = IndexWriter & Omit<IndexReader, 'conversationKey' | 'conversationId'>

/** The tables of the memory index, in maps. */
export function createMemoryTables(): Tables & { snippetsOf(conversation: number): readonly StoredSnippet[] } {
  const owners = new Map<string, Owner>()
  const conversations = new Map<number, IndexedConversation>()
  /** By owner and number. */
  const snippets = new Map<string, StoredSnippet>()
  /** The snippets of each conversation by block and part, in the order in which they were added. */
  const ofConversation = new Map<number, Map<string, StoredSnippet>>()
  const postings = new Map<string, Uint8Array>()
  const documents = new Map<string, Uint8Array>()
  const turns = new Map<number, Map<string, TurnState>>()
  let nextKey = 1

  const listOf = (conversation: number) => [...(ofConversation.get(conversation)?.values() ?? [])].sort(inOrder)

  return {
    findOwner: (folder) => owners.get(folder),
    createOwner(folder) {
      const owner = { key: nextKey++, folder, next: 0, snippets: 0, terms: 0, conversations: 0 }
      owners.set(folder, owner)
      return owner
    },
    saveOwner: (owner) => void owners.set(owner.folder, owner),
    removeOwner(key) {
      for (const place of documents.keys()) if (place.startsWith(`${key} `)) documents.delete(place)
      for (const [folder, owner] of owners) if (owner.key === key) owners.delete(folder)
    },
    conversation: (key) => conversations.get(key),
    saveConversation: (state) => void conversations.set(state.conversation, state),
    removeConversation(key) {
      conversations.delete(key)
      ofConversation.delete(key)
      turns.delete(key)
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
      ofConversation.get(conversation)?.delete(`${block} ${part}`)
    },
    appendPosting: (key, posting) => append(postings, placeOf(key), posting),
    readPostings: (key) => postings.get(placeOf(key)),
    writePostings: (key, body) => replace(postings, placeOf(key), body),
    appendDocument: (owner, group, document) => append(documents, `${owner} ${group}`, document),
    readDocuments: (owner, group) => documents.get(`${owner} ${group}`),
    writeDocuments: (owner, group, body) => replace(documents, `${owner} ${group}`, body),
    noteTurn(conversation, _seq, { turnId, searched, worked }) {
      const known = turns.get(conversation) ?? new Map<string, TurnState>()
      turns.set(conversation, known)
      const state = known.get(turnId) ?? { turnId, searched: false, worked: false }
      known.set(turnId, { turnId, searched: state.searched || searched, worked: state.worked || worked })
    },

    postings: (key) => postings.get(placeOf(key)),
    documents: (owner, group) => documents.get(`${owner} ${group}`),
    snippet: (owner, number) => snippets.get(`${owner} ${number}`),
    neighbours(snippet) {
      const list = listOf(snippet.conversation)
      const at = list.findIndex(({ number }) => number === snippet.number)
      return [list[at - 1], list[at + 1]].filter((neighbour) => neighbour !== undefined)
    },
    isLookup(conversation, turnId) {
      const state = turns.get(conversation)?.get(turnId)
      return state?.searched === true && !state.worked
    },
    snippetsOfTurn(conversation, ordinal) {
      const turn = [...(turns.get(conversation)?.keys() ?? [])][ordinal - 1]
      return listOf(conversation).filter(({ turnId }) => turnId === turn)
    },
    snippetsOf: listOf,
  }
}

const inOrder = (a: StoredSnippet, b: StoredSnippet): number => a.block - b.block || a.part - b.part

const placeOf = ({ owner, chunk, term }: PostingKey): string => `${owner} ${chunk} ${term}`

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
