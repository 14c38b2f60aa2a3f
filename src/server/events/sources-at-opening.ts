import type { SourceRow } from '../../core/sources/source.ts'

/** What a format that cites must know besides the events. */
export interface FormatContext {
  readonly conversationId: string
  /** The pool when the stream begins. */
  readonly sources: Iterable<SourceRow>
  /** Where a client gets a file. */
  readonly resourceUrl: (rn: string) => string
}
