import { type CacheReport, cacheReport } from '../core/cache/cache-report.ts'
import type { JournalEntry } from '../core/cache/recorded-calls.ts'
import type { RulesOf } from '../core/cache/rules.ts'
import { type CostReport, costReport } from '../core/cost/cost.ts'
import type { ChargeOf } from '../core/cost/price.ts'
import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { ConversationStore } from '../ports/store.ts'

/** What providers charge and how they cache. Without it tokens are still counted. */
export interface Bookkeeping {
  readonly chargeOf: ChargeOf
  readonly rulesOf: RulesOf
}

export const noBookkeeping: Bookkeeping = { chargeOf: () => undefined, rulesOf: () => undefined }

/** What a conversation has cost, and what the provider's cache did for it. */
export interface UsageReport {
  readonly cost: CostReport
  readonly cache: CacheReport
}

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
