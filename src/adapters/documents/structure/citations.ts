import type { DocumentSource } from '../../../ports/documents.ts'

/** The numbers that readers see for the sources of a document: 1 for the source that is cited first, and so on. */
export interface SourceNumbers {
  readonly sources: readonly NumberedSource[]
  /** The sources of a citation. SIDs without a source are left out. */
  of(sids: readonly number[]): readonly NumberedSource[]
}

/** A source with its number in the document. */
export interface NumberedSource extends DocumentSource {
  readonly number: number
}

export function numberSources(sources: readonly DocumentSource[]): SourceNumbers {
  const numbered = sources.map((source, index) => ({ ...source, number: index + 1 }))
  const bySid = new Map(numbered.map((source) => [source.sid, source]))
  return { sources: numbered, of: (sids) => sids.flatMap((sid) => bySid.get(sid) ?? []) }
}

/** The address of a link that a document may have. Undefined for files, scripts and other addresses that a reader should not follow. */
export function linkAddress(address: string | undefined): string | undefined {
  const text = address?.trim() ?? ''
  return /^(?:https?:\/\/|mailto:|tel:)/i.test(text) && text.length <= 2_000 && !/[\p{Cc}]/u.test(text) ? text : undefined
}
