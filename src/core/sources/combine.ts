import type { IncomingSource, SourceRow } from './source.ts'
import { normalizeUrl } from './url.ts'

/** Two rows with one key are one source. A file is known by where it lies, everything else by its address. */
export function sourceKey(row: { readonly url?: string; readonly physical_path?: string }): string {
  return row.physical_path === undefined ? normalizeUrl(row.url ?? '') : `local:${row.physical_path}`
}

const scores = ['weighted_rank', 'objective_relevance', 'query_relevance'] as const

/** What both rows know of one source. The very same row comes back when nothing new was learnt. */
export function combineRows(known: SourceRow, incoming: IncomingSource): SourceRow {
  const learnt = new Map<string, unknown>()
  for (const [field, value] of Object.entries(incoming)) {
    if (field !== 'sid' && isMissing(known[field]) && !isMissing(value)) learnt.set(field, value)
  }
  if (isBetterTitle(incoming.title, known.title)) learnt.set('title', incoming.title)
  if (isLonger(incoming.text, known.text)) learnt.set('text', incoming.text)

  // The length is a fact about one body, and never filled in from another.
  if (!isMissing(known.content) || !isMissing(incoming.content)) learnt.delete('content_length')
  if (isLonger(incoming.content, known.content)) {
    learnt.set('content', incoming.content)
    const length = incoming.content_length ?? (known.content_length === undefined ? undefined : incoming.content?.length)
    if (length !== undefined && length !== known.content_length) learnt.set('content_length', length)
  }

  for (const score of scores) if ((incoming[score] ?? -Infinity) > (known[score] ?? -Infinity)) learnt.set(score, incoming[score])
  if (incoming.used === true && known.used !== true) learnt.set('used', true)
  return learnt.size === 0 ? known : { ...known, ...Object.fromEntries(learnt) }
}

const isMissing = (value: unknown) => value === undefined || value === null || value === ''
const isLonger = (candidate: string | undefined, known: string | undefined) => (candidate?.length ?? 0) > (known?.length ?? 0)

/** A row without a title carries its address as one; however long, that is worse than any title. */
function isBetterTitle(candidate: string | undefined, known: string | undefined): boolean {
  const real = isTitle(candidate)
  return real === isTitle(known) ? isLonger(candidate, known) : real
}

const isTitle = (title: string | undefined) => !isMissing(title) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(title ?? '')
