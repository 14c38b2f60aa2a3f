import type { Scope } from '../core/scope.ts'
import type { IncomingSource } from '../core/sources/source.ts'

/** Who reads or searches the knowledge base. */
export interface KnowledgeCall {
  readonly scope: Scope
  readonly signal: AbortSignal
}

/** Reads `ks:` paths. */
export interface Knowledge {
  read(path: string, call: KnowledgeCall): Promise<KnowledgeItem | undefined>
}

/** The text or the bytes at one `ks:` path. */
export interface KnowledgeItem {
  readonly mime?: string
  readonly text?: string
  readonly bytes?: Uint8Array
  /** Set when the storage that should contain the item does not exist. */
  readonly storageMissing?: true
  /** The item as a source, so that answers can cite it. */
  readonly source?: IncomingSource
}

/** Searches the knowledge base. */
export interface KnowledgeSearch {
  /** Returns the matches, best first. */
  search(query: KnowledgeQuery, call: KnowledgeCall): Promise<readonly KnowledgeHit[]>
  /** How many of the new or changed documents a search already finds (`done` of `total`). Undefined when it finds all of them. */
  progress?(): { readonly done: number; readonly total: number } | undefined
}

/** What to search for. `maxHits` is already within the limit of the tool. */
export interface KnowledgeQuery {
  readonly query: string
  /** The search covers only items below this `ks:` path. */
  readonly root: string
  readonly maxHits: number
  readonly keywords: readonly string[]
}

/** One match of a knowledge search. */
export interface KnowledgeHit {
  readonly path: string
  readonly title: string
  readonly score: number
  readonly summary?: string
  readonly headings?: readonly string[]
  readonly tags?: readonly string[]
  /** The web address at which people can read the document. */
  readonly url?: string
}
