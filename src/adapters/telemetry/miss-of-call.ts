import { cacheReport } from '../../core/cache/cache-report.ts'
import type { Miss } from '../../core/cache/misses.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { Usage } from '../../core/timeline/response-record.ts'
import type { Entry } from '../../ports/store.ts'
import type { ObservedAgent } from '../../ports/telemetry.ts'

/**
 * A call should read all tokens from the cache that the previous call read from it or wrote to it. If a larger share than this is missing,
 * the call may have missed the cache, and the journal is examined.
 */
const toleratedShare = 0.02

/**
 * Whether a response may have missed the provider's cache. `before` is the usage of the previous response, if it is known. This check comes
 * before `missOfCall`, which reads the whole journal to explain a miss.
 */
export function mayHaveMissed(usage: Usage | undefined, before: Usage | undefined): boolean {
  if (!usage || !before) return true
  return usage.cache_read < (before.cache_read + before.cache_write) * (1 - toleratedShare)
}

/**
 * Why the response with this number missed the provider's cache. Undefined if the response did not miss the cache, or if the rules of the
 * cache are not known.
 */
export async function missOfCall(
  { rulesOf, count, readJournal }: ObservedAgent,
  conversationId: string,
  seq: number,
  response: ResponseReceived,
): Promise<Miss | undefined> {
  if (!rulesOf(response.prompt?.model ?? '')) return undefined
  const journal: Entry[] = []
  for await (const entry of readJournal(conversationId)) {
    journal.push(entry)
    if (entry.seq >= seq) break
  }
  return cacheReport(journal, { rulesOf, count }).rows.find((row) => row.seq === seq)?.miss
}
