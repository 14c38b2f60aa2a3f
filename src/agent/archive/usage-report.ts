import { type CacheReport, type CacheRow, cacheReport } from '../../core/cache/cache-report.ts'
import type { JournalEntry } from '../../core/cache/recorded-calls.ts'
import { type CostReport, costReport } from '../../core/cost/cost.ts'
import { type RoundCost, roundCost } from '../../core/cost/round-cost.ts'
import type { TokenCounter } from '../../core/estimate/tokens.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { Bookkeeping } from '../conversation/spending.ts'

/** A report about the costs of a conversation and its use of the provider's cache. */
export interface UsageReport {
  readonly cost: CostReport
  readonly cache: CacheReport
}

/** Makes the usage report of a conversation. Reads its whole journal. */
export async function readUsageReport(
  store: Pick<ConversationStore, 'readJournal'>,
  conversationId: string,
  { chargeOf, rulesOf }: Bookkeeping,
  count: TokenCounter,
): Promise<UsageReport> {
  const journal: JournalEntry[] = []
  for await (const entry of store.readJournal(conversationId, { after: 0 })) journal.push(entry)
  return { cost: costReport(journal, { chargeOf, count }), cache: cacheReport(journal, { rulesOf, count }) }
}

/** A report about one round: its cost, divided among the blocks, and its use of the provider's cache. */
export interface RoundReport {
  readonly cost: RoundCost
  readonly cache: CacheRow | undefined
}

/** The part of a usage report that is about one round. Undefined when there is no such round, or when no call of the round was billed. */
export function roundReport({ cost, cache }: UsageReport, turnId: string, iteration: number): RoundReport | undefined {
  const ofRound = roundCost(cost, turnId, iteration)
  return ofRound && { cost: ofRound, cache: cache.rows.find((row) => row.turnId === turnId && row.iteration === iteration) }
}
