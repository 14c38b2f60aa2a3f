import type { MemoryTarget } from '../../core/recall/snippets.ts'
import type { Scope } from '../../core/scope.ts'

/**
 * The index of everything that users and agents have said. It is computed from the journals. The index may lack the newest entries, so a
 * search first indexes the entries of its scope that are not in the index. Therefore a search finds a snippet as soon as the append of its
 * entry has resolved. It finds no snippets of deleted conversations.
 */
export interface MemoryIndex {
  /** The snippets that match the question best, one per turn, best first. A question without terms finds nothing. */
  search(question: string, filter: MemoryFilter): Promise<readonly MemoryMatch[]>
  /**
   * Snippets that the filter selects, in the order of time. With `ordinal`, all of them are from the turn with this number. Otherwise the
   * list has one snippet per turn, the first in this order.
   */
  list(filter: MemoryFilter & { readonly ordinal?: number; readonly order?: 'oldest' | 'newest' }): Promise<readonly MemoryMatch[]>
  /**
   * Indexes the entries that are not in the index. With `within`, only entries of this conversation or user are indexed. Returns how many
   * conversations were indexed.
   */
  catchUp(options?: { readonly within?: MemoryScope; readonly signal?: AbortSignal }): Promise<number>
  /** The vectors of the snippets. */
  readonly vectors: MemoryVectors
}

/**
 * The vectors of the snippets, made by an embedding model. The index keeps vectors of one model. Vectors are deleted with their snippets.
 */
export interface MemoryVectors {
  /**
   * Chooses the model whose vectors are kept from now on, and returns its key. If its name or the length of its vectors differs from those
   * of the previous model, all vectors have to be made again.
   */
  choose(model: VectorModel): Promise<number>
  /** At most `limit` snippets that have no vector of this model yet. Undefined when another process has chosen another model. */
  missing(model: number, limit: number): Promise<readonly SnippetText[] | undefined>
  /** Stores vectors. The vector of a snippet that no longer exists is not stored. */
  save(model: number, vectors: readonly SnippetVector[]): Promise<void>
  /** How many snippets already have a vector (`done`), and how many there are (`all`). Undefined when no model was chosen yet. */
  progress(): Promise<(VectorModel & { readonly done: number; readonly all: number }) | undefined>
}

/** An embedding model, and how many numbers its vectors have. */
export interface VectorModel {
  readonly name: string
  readonly dimensions: number
}

/** Identifies a snippet of the index. */
export interface SnippetId {
  readonly owner: number
  readonly number: number
}
/** A snippet that needs a vector. */
export interface SnippetText extends SnippetId {
  readonly text: string
}
/**
 * The vector of a snippet. An empty vector records that the model can not make a vector of this text, so that the text is not sent to the
 * model again.
 */
export interface SnippetVector extends SnippetId {
  readonly vector: Float32Array
}

/** The conversation or the user whose memory is searched. */
export type MemoryScope = { readonly conversationId: string } | { readonly user: Scope }

/** Which snippets may be found. */
export interface MemoryFilter {
  readonly within: MemoryScope
  readonly targets: readonly MemoryTarget[]
  /** Only snippets from this time on (ISO 8601 in UTC). */
  readonly from?: string
  /** Only snippets before this time (ISO 8601 in UTC). */
  readonly to?: string
  /** The turn that searches. Its own texts are not found. */
  readonly except?: { readonly conversationId: string; readonly turnId: string }
  /** Whether the search also finds turns that only searched the memory. Such turns repeat what other turns say. */
  readonly withLookups?: boolean
  /** The time of the search. Newer snippets rank a little higher. */
  readonly now: string
  readonly limit: number
  /** Aborting this signal ends the indexing before the search. The search then covers only what the index already has. */
  readonly signal?: AbortSignal
  /** The vector of the question. The search then also finds snippets with similar vectors. */
  readonly vector?: { readonly model: number; readonly values: Float32Array }
  /** The maximum number of matches from one conversation. */
  readonly perConversation?: number
}

/** A snippet that was found. */
export interface MemoryMatch {
  readonly conversationId: string
  readonly turnId: string
  readonly ts: string
  readonly role: MemoryTarget
  readonly path: string
  readonly text: string
  readonly score: number
}
