import type { MemoryTarget, Snippet, TurnFact } from '../../../../core/recall/snippets.ts'
import { isChildKey } from '../../../../core/scope.ts'
import type { MemoryScope } from '../../../../ports/store/memory-index.ts'
import type { Answer } from './steps.ts'
import type { StoredVector } from './vectors.ts'

/*
 * The tables of the memory index. Each owner numbers its snippets from 0. A number of consecutive snippets are a chunk:
 *
 *   snippets    owner, number         the text, and where it comes from
 *   documents   owner, group          12 bytes per snippet: conversation, time, length and role. A row has 128 snippets
 *   postings    owner, term, chunk    3 bytes per snippet that has the term: its place in the chunk, and how often it has the term
 *
 * A search reads the postings of its terms, and texts only of the best snippets. The documents of an owner are kept in memory
 * (`documents.ts`). All keys begin with the owner, so a search can not reach the texts of another owner.
 */

/** How many snippets a row of `documents` has. Adding a snippet writes the whole row again, so the rows are short. */
export const GROUP = 128
export const DOCUMENT_BYTES = 12
export const POSTING_BYTES = 3

/** A user with snippets. */
export interface Owner {
  /** A key is not used again for another owner, except after a crash of the database server. See `isDescribed`. */
  readonly key: number
  /** The beginning of the ids of the user's conversations. */
  readonly folder: string
  /** The number of the next snippet. It decreases only when a crash of the database server undoes the last commits. */
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

/** The postings of a term in one chunk. They tell which snippets of the chunk have the term. */
export interface PostingRow {
  readonly term: number
  readonly chunk: number
  readonly body: Uint8Array
}

/** A row of `documents`. */
export interface DocumentRow {
  readonly group: number
  readonly body: Uint8Array
}

/** A snippet with facts about its conversation and its turn. */
export interface PlacedSnippet extends StoredSnippet {
  /** Undefined when the conversation does not exist or its deletion has begun. */
  readonly conversationId: string | undefined
  /** Whether the turn searched the memory and called no tools except tools that look something up. */
  readonly isLookup: boolean
}

/** A term to look up. If more snippets than `atMost` have the term, its postings are not read. */
export interface WantedTerm {
  readonly term: number
  readonly atMost?: number | undefined
}

/** Reads the tables, in one snapshot. */
export interface IndexReader {
  /** How many snippets a chunk has. */
  readonly chunk: number
  findOwner(folder: string): Answer<Owner | undefined>
  /** The postings of terms. The postings of one term are in the order of the chunks. */
  postings(owner: Owner, terms: readonly WantedTerm[]): Answer<readonly PostingRow[]>
  /** The rows of the group `from` and of all later groups. */
  documents(owner: number, from: number): Answer<readonly DocumentRow[]>
  /** The snippets with these numbers, in any order. Snippets that do not exist are left out. */
  snippets(owner: number, numbers: readonly number[]): Answer<readonly PlacedSnippet[]>
  /** The vectors of the snippet `from` and of later snippets, made by this model. */
  vectors(owner: number, model: number, from: number, limit: number): Answer<readonly StoredVector[]>
  /** The snippets of one turn, in order. `ordinal` is the position of the turn in the conversation; the first turn is 1. */
  snippetsOfTurn(conversation: number, ordinal: number): Answer<readonly PlacedSnippet[]>
  /** The key of a conversation. Undefined when it does not exist or its deletion has begun. */
  conversationKey(conversationId: string): Answer<number | undefined>
  /** Whether the index lacks entries of a scope. A store in which nothing removes entries from the index lacks this function. */
  isBehind?(scope: MemoryScope): Answer<boolean>
}

/** A turn with an entry, and what its entries say about it. */
export interface TurnRow extends TurnFact {
  readonly seq: number
}

/** Writes the tables, in one transaction. Each function gets rows of one owner, so that a store can write them together. */
export interface IndexWriter {
  /** How many snippets a chunk has: at most 65,536. Adding a posting writes the postings of its chunk again. */
  readonly chunk: number
  findOwner(folder: string): Answer<Owner | undefined>
  createOwner(folder: string): Answer<Owner>
  saveOwner(owner: Owner): Answer<void>
  /** Removes an owner without snippets, and its documents. */
  removeOwner(key: number): Answer<void>
  /** The stored snippets of these blocks, by `partKey`. */
  findParts(conversation: number, blocks: readonly number[]): Answer<ReadonlySet<string>>
  insertSnippets(snippets: readonly StoredSnippet[]): Answer<void>
  /** Removes snippets and their vectors. */
  removeSnippets(snippets: readonly StoredSnippet[]): Answer<void>
  appendPostings(owner: number, rows: readonly PostingRow[]): Answer<void>
  /** Reads the rows with these terms and chunks. Rows that do not exist are left out. */
  readPostings(owner: number, keys: readonly Omit<PostingRow, 'body'>[]): Answer<readonly PostingRow[]>
  /** An empty body removes the row. */
  writePostings(owner: number, rows: readonly PostingRow[]): Answer<void>
  appendDocuments(owner: number, rows: readonly DocumentRow[]): Answer<void>
  readDocuments(owner: number, groups: readonly number[]): Answer<readonly DocumentRow[]>
  writeDocuments(owner: number, rows: readonly DocumentRow[]): Answer<void>
  /** Adds turns, or adds what they did to the rows that exist. `seq` of an existing row is not changed. */
  noteTurns(conversation: number, turns: readonly TurnRow[]): Answer<void>
}

/** Identifies a snippet in its conversation. */
export const partKey = ({ block, part }: Pick<Snippet, 'block' | 'part'>): string => `${block} ${part}`

/** The bits of what a turn did, as they are stored. */
export const usesOf = ({ searched, worked }: Pick<TurnFact, 'searched' | 'worked'>): number => (searched ? 1 : 0) | (worked ? 2 : 0)
/** Whether a turn with these bits only searched the memory and looked something up. */
export const isLookupUse = (uses: number | null | undefined): boolean => uses === 1

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
