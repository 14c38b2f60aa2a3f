import { replaceBatch } from '../citations/replace.ts'
import { isCitable, type SourceRow } from '../sources/source.ts'

/** The sources of a conversation that a reader of its events has received so far. */
export interface KnownSources {
  add(rows: Iterable<SourceRow>): void
  get(sid: number): SourceRow | undefined
  /** Replaces the citations in an answer by links, in the same way as in the live output. Citations of unknown sources are removed. */
  linkCitations(answer: string): string
  /**
   * Replaces the citations in suggested followups or questions. A phrase that consists only of citations of unknown sources is left out.
   */
  linkPhrases(phrases: readonly string[]): readonly string[]
  /** The known sources with these SIDs that are web pages. Files are left out, because answers embed them and do not cite them. */
  citedPages(sids: readonly number[]): readonly CitedPage[]
}

export type CitedPage = SourceRow & { readonly url: string }

export function createKnownSources(initial: Iterable<SourceRow> = []): KnownSources {
  const rows = new Map<number, SourceRow>()
  const add = (added: Iterable<SourceRow>) => {
    for (const row of added) rows.set(row.sid, row)
  }
  add(initial)
  const linkCitations = (text: string) => replaceBatch(text, rows, { keepUnresolved: false })
  return {
    add,
    get: (sid) => rows.get(sid),
    linkCitations,
    linkPhrases: (phrases) => phrases.map((phrase) => linkCitations(phrase).trim()).filter((phrase) => phrase !== ''),
    citedPages: (sids) =>
      sids.flatMap((sid) => {
        const row = rows.get(sid)
        return row?.url !== undefined && isCitable(row) ? [{ ...row, url: row.url }] : []
      }),
  }
}
