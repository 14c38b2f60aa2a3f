import { normalizeUrl } from '../../core/sources/url.ts'
import type { SearchHit } from '../../ports/web.ts'

/** The results of one query from one service, best first. */
export interface HitList {
  readonly authority: number
  readonly hits: readonly SearchHit[]
}

/** A result of one or more queries. */
export interface FoundHit extends SearchHit {
  readonly authority: number
  /** The best position of the result in the lists of the services, as a number: 1 for the first position, and less for later positions. */
  readonly providerRank: number
}

/**
 * Merges the results of several queries: the first result of each query, then the second of each, and so on. Two addresses of one page are
 * one result. The texts of the result come from the service with the higher authority. Fields that this service did not return come from
 * the other service.
 */
export function mergeHits(lists: readonly HitList[]): readonly FoundHit[] {
  const found = new Map<string, FoundHit>()
  const longest = lists.reduce((most, { hits }) => Math.max(most, hits.length), 0)
  for (let place = 0; place < longest; place++) {
    for (const { authority, hits } of lists) {
      const hit = hits[place]
      if (!hit) continue
      const key = normalizeUrl(hit.url)
      const next = { ...hit, authority, providerRank: 1 - place / hits.length }
      const known = found.get(key)
      found.set(key, known ? combine(known, next) : next) // `set` does not move a known key to another place in the map
    }
  }
  return [...found.values()]
}

function combine(known: FoundHit, next: FoundHit): FoundHit {
  const [better, other] = next.authority > known.authority ? [next, known] : [known, next]
  const score = Math.max(better.score ?? -1, other.score ?? -1)
  return {
    ...other,
    ...better,
    url: known.url,
    title: better.title || other.title,
    text: better.text || other.text,
    providerRank: Math.max(better.providerRank, other.providerRank),
    ...(score >= 0 && { score }),
  }
}
