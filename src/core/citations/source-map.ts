/** What a citation needs to know of a source. */
export interface CitedSource {
  readonly title?: string
  readonly url?: string
  readonly text?: string
}

export type SourceMap = ReadonlyMap<number, CitedSource>

/** How the text around a citation is read: it decides how the citation is drawn. */
export type CitationFormat = 'markdown' | 'text' | 'html' | 'verbatim'

/** Replaces citations in text that arrives in pieces. Output does not depend on where the pieces were cut. */
export interface CitationReplacer {
  /** Everything that can no longer become part of a token; the rest is held. */
  push(text: string): string
  /** The held rest, verbatim unless it completes a token. */
  flush(): string
  /** Ids in recognised tokens, ascending, whether or not they resolve. */
  readonly used: readonly number[]
  readonly unresolved: readonly number[]
  /** Ids named by `[[USAGE:…]]`. */
  readonly usage: readonly number[]
}
