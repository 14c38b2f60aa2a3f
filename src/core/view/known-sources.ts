import { replaceBatch } from '../citations/replace.ts'
import { isCitable, type SourceRow } from '../sources/source.ts'

/** The sources of a conversation, as far as a reader of its events knows them. */
export interface KnownSources {
  add(rows: Iterable<SourceRow>): void
  get(sid: number): SourceRow | undefined
  /** An answer as people read it: its citations are links, as they were while it streamed. Citations of unknown sources are left out. */
  linkCitations(answer: string): string
  /** The web pages among these sources. Files are shown in the answer instead of being cited. */
  citedPages(sids: readonly number[]): readonly CitedPage[]
}

export type CitedPage = SourceRow & { readonly url: string }

export function createKnownSources(initial: Iterable<SourceRow> = []): KnownSources {
  const rows = new Map<number, SourceRow>()
  const add = (added: Iterable<SourceRow>) => {
    for (const row of added) rows.set(row.sid, row)
  }
  add(initial)
  return {
    add,
    get: (sid) => rows.get(sid),
    linkCitations: (answer) => replaceBatch(answer, rows, { keepUnresolved: false }),
    citedPages: (sids) =>
      sids.flatMap((sid) => {
        const row = rows.get(sid)
        return row?.url !== undefined && isCitable(row) ? [{ ...row, url: row.url }] : []
      }),
  }
}
