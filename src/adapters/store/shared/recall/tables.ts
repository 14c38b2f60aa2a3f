import type { MemoryTarget, Snippet, TurnFact } from '../../../../core/recall/snippets.ts'

/*
 * The tables of the memory index. Each owner numbers its snippets from 0. 1024 consecutive snippets are a chunk:
 *
 *   snippets    owner, number         the text, and where it comes from
 *   documents   owner, group          12 bytes per snippet: conversation, time, length and role. A row has 128 snippets
 *   postings    owner, chunk, term    3 bytes per snippet that has the term: its place in the chunk, and how often it has the term
 *
 * A search reads the postings of its terms and the documents of their chunks, and texts only of the best snippets. New postings are all in
 * the last chunk of their owner, so an append changes few pages of the database. All keys begin with the owner, so a search can not reach
 * the texts of another owner.
 */

export const CHUNK = 1_024
/** How many snippets a row of `documents` has. An append writes this row again, so it is short. */
export const GROUP = 128
export const DOCUMENT_BYTES = 12
export const POSTING_BYTES = 3

/** A user with snippets. The folder is the beginning of the ids of the user's conversations. */
export interface Owner {
  readonly key: number
  readonly folder: string
  /** The number of the next snippet. */
  readonly next: number
  /** How many snippets, terms and conversations there are. */
  readonly snippets: number
  readonly terms: number
  readonly conversations: number
}

/** What the index knows about a conversation. */
export interface IndexedConversation {
  readonly conversation: number
  readonly owner: number
  readonly snippets: number
  readonly terms: number
}

/** A snippet as it is stored. `conversation` is the key of the conversation, and `seq` the entry that contains the block. */
export interface StoredSnippet extends Snippet {
  readonly owner: number
  readonly number: number
  readonly conversation: number
  readonly seq: number
}

/** A list of postings: which snippets of a chunk have a term. */
export interface PostingKey {
  readonly owner: number
  readonly chunk: number
  readonly term: number
}

/** Reads the tables, in one snapshot. */
export interface IndexReader {
  findOwner(folder: string): Owner | undefined
  postings(key: PostingKey): Uint8Array | undefined
  documents(owner: number, group: number): Uint8Array | undefined
  snippet(owner: number, number: number): StoredSnippet | undefined
  /** The snippets directly before and after a snippet, in its conversation. */
  neighbours(snippet: StoredSnippet): readonly StoredSnippet[]
  conversation(key: number): IndexedConversation | undefined
  /** Whether the turn searched the memory and did nothing but look things up. */
  isLookup(conversation: number, turnId: string): boolean
  /** The snippets of the turn with this number, from 1, in the order of the conversation. */
  snippetsOfTurn(conversation: number, ordinal: number): readonly StoredSnippet[]
  /** The key of a conversation. Undefined when it does not exist or its deletion has begun. */
  conversationKey(conversationId: string): number | undefined
  conversationId(key: number): string | undefined
}

/** Writes the tables, in one transaction. */
export interface IndexWriter {
  findOwner(folder: string): Owner | undefined
  createOwner(folder: string): Owner
  saveOwner(owner: Owner): void
  removeOwner(key: number): void
  conversation(key: number): IndexedConversation | undefined
  saveConversation(conversation: IndexedConversation): void
  removeConversation(key: number): void
  /** Returns false when the block and part are already stored. */
  insertSnippet(snippet: StoredSnippet): boolean
  removeSnippet(snippet: StoredSnippet): void
  appendPosting(key: PostingKey, posting: Uint8Array): void
  readPostings(key: PostingKey): Uint8Array | undefined
  /** An empty body removes the row. */
  writePostings(key: PostingKey, body: Uint8Array): void
  appendDocument(owner: number, group: number, document: Uint8Array): void
  readDocuments(owner: number, group: number): Uint8Array | undefined
  writeDocuments(owner: number, group: number, body: Uint8Array): void
  noteTurn(conversation: number, seq: number, fact: TurnFact): void
}

/** The ids of the roles in `documents`. They are stored, so they never change. */
export const roleIds: Readonly<Record<MemoryTarget, number>> = { user: 1, assistant: 2, attachment: 3, summary: 4, notes: 5 }

/** The folder of a conversation: its id up to the last slash. It names the tenant, project and user. It is empty for the local user. */
export const folderOf = (conversationId: string): string => conversationId.slice(0, conversationId.lastIndexOf('/') + 1)

/** A hash of 53 bits that stands for a term. The hash of a given term never changes, because it is stored. */
export function termKey(term: string): number {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let at = 0; at < term.length; at++) {
    const code = term.charCodeAt(at)
    a = Math.imul(a ^ code, 2_654_435_761)
    b = Math.imul(b ^ code, 1_597_334_677)
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909)
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & b) + (a >>> 0)
}
