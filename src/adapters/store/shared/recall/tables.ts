import type { MemoryTarget, Snippet, TurnFact } from '../../../../core/recall/snippets.ts'
import { isChildKey } from '../../../../core/scope.ts'
import type { StoredVector } from './vectors.ts'

/*
 * The tables of the memory index. Each owner numbers its snippets from 0. 4096 consecutive snippets are a chunk:
 *
 *   snippets    owner, number         the text, and where it comes from
 *   documents   owner, group          12 bytes per snippet: conversation, time, length and role. A row has 128 snippets
 *   postings    owner, term, chunk    3 bytes per snippet that has the term: its place in the chunk, and how often it has the term
 *
 * A search reads the postings of its terms, and texts only of the best snippets. The documents of an owner are kept in memory
 * (`documents.ts`). All keys begin with the owner, so a search can not reach the texts of another owner.
 */

export const CHUNK = 4_096
/** How many snippets a row of `documents` has. Adding a snippet writes the whole row again, so the rows are short. */
export const GROUP = 128
export const DOCUMENT_BYTES = 12
export const POSTING_BYTES = 3

/** A user with snippets. */
export interface Owner {
  /** A key is never used again for another owner. */
  readonly key: number
  /** The beginning of the ids of the user's conversations. */
  readonly folder: string
  /** The number of the next snippet. It never decreases. */
  readonly next: number
  /** How many snippets there are. Numbers of removed snippets are not used again. */
  readonly snippets: number
}

/** A snippet as it is stored. `conversation` is the key of the conversation, and `seq` the entry that contains the block. */
export interface StoredSnippet extends Snippet {
  readonly owner: number
  readonly number: number
  readonly conversation: number
  readonly seq: number
}

/** The key of a list of postings. The list tells which snippets of a chunk have a term. */
export interface PostingKey {
  readonly owner: number
  readonly term: number
  readonly chunk: number
}

/** The postings of a term in one chunk. */
export interface ChunkPostings {
  readonly chunk: number
  readonly body: Uint8Array
}

/** Reads the tables, in one snapshot. */
export interface IndexReader {
  findOwner(folder: string): Owner | undefined
  /** All postings of a term, in the order of the chunks. */
  postings(owner: Owner, term: number): readonly ChunkPostings[]
  /** How many postings a term has. It reads no postings. */
  countPostings(owner: Owner, term: number): number
  /** The rows of the group `from` and of all later groups. */
  documents(owner: number, from: number): readonly { readonly group: number; readonly body: Uint8Array }[]
  snippet(owner: number, number: number): StoredSnippet | undefined
  /** The vectors of the snippet `from` and of later snippets, made by this model. */
  vectors(owner: number, model: number, from: number, limit: number): readonly StoredVector[]
  /** Whether the turn searched the memory and called no tools except tools that look something up. */
  isLookup(conversation: number, turnId: string): boolean
  /** The snippets of one turn, in order. `ordinal` is the position of the turn in the conversation; the first turn is 1. */
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
  /** Removes an owner without snippets, and its documents. */
  removeOwner(key: number): void
  /** Returns false when the block and part are already stored. */
  insertSnippet(snippet: StoredSnippet): boolean
  /** Removes a snippet and its vector. */
  removeSnippet(snippet: StoredSnippet): void
  appendPostings(key: PostingKey, postings: Uint8Array): void
  readPostings(key: PostingKey): Uint8Array | undefined
  /** An empty body removes the row. */
  writePostings(key: PostingKey, body: Uint8Array): void
  appendDocuments(owner: number, group: number, documents: Uint8Array): void
  readDocuments(owner: number, group: number): Uint8Array | undefined
  writeDocuments(owner: number, group: number, body: Uint8Array): void
  noteTurn(conversation: number, seq: number, fact: TurnFact): void
}

/** The ids of the roles in `documents`. They are stored, so they never change. */
export const roleIds: Readonly<Record<MemoryTarget, number>> = { user: 1, assistant: 2, attachment: 3, summary: 4, notes: 5 }

/**
 * The folder of a conversation: its id up to the last slash. It names the tenant, project and user. The folder is empty for the local user.
 * The conversation of a sub-agent has a folder of its own, because its texts are not from the user.
 */
export const folderOf = (conversationId: string): string =>
  isChildKey(conversationId) ? conversationId : conversationId.slice(0, conversationId.lastIndexOf('/') + 1)

/**
 * A hash of a term, with 53 bits. It identifies the term. Stores keep these hashes, so a term must have the same hash in every version of
 * Daybook.
 */
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
