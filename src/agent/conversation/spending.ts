import { type CacheReport, cacheReport } from '../../core/cache/cache-report.ts'
import type { JournalEntry } from '../../core/cache/recorded-calls.ts'
import type { RulesOf } from '../../core/cache/rules.ts'
import { type CostReport, callUsages, costReport } from '../../core/cost/cost.ts'
import type { ChargeOf, PriceOf } from '../../core/cost/price.ts'
import type { TokenCounter } from '../../core/estimate/tokens.ts'
import type { Change, ResponseReceived } from '../../core/timeline/change.ts'
import type { ConversationStore } from '../../ports/store.ts'

/** Adds up the cost of each turn of a running conversation, including the calls for titles and summaries. */
export interface Spending {
  record(change: Change): void
  of(turnId: string): TurnSpending
  /**
   * Whether calls of this model have a known price. A turn with a money limit checks this before its first call. Without a price, its cost
   * can not be compared with the limit.
   */
  hasPrice(model: string): boolean
  /**
   * Whether the price of at least one call of the turn is not known. `more` has responses of the turn that were not passed to `record` yet.
   */
  isUnpriced(turnId: string, more: readonly ResponseReceived[]): boolean
}

interface TurnSpending {
  readonly money: number
  /** True when the price of a call is unknown. `money` is then lower than the real cost. */
  readonly unpriced: boolean
  /** The price of the latest decision. It serves as an estimate for the next decision. */
  readonly last: number
}

const noTokens = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
const nothingSpent: TurnSpending = { money: 0, unpriced: false, last: 0 }

export function createSpending(priceOf: PriceOf): Spending {
  const spent = new Map<string, TurnSpending>()
  return {
    record(change) {
      if (change.type !== 'response.received') return
      for (const { usage, model } of callUsages(change)) {
        const before = spent.get(change.turn_id) ?? nothingSpent
        const price = knownPrice(priceOf, usage, model)
        spent.set(change.turn_id, {
          money: before.money + (price ?? 0),
          unpriced: before.unpriced || price === undefined,
          last: change.role === undefined ? (price ?? 0) : before.last,
        })
      }
    },
    of: (turnId) => spent.get(turnId) ?? nothingSpent,
    isUnpriced: (turnId, more) =>
      (spent.get(turnId) ?? nothingSpent).unpriced ||
      more.flatMap(callUsages).some(({ usage, model }) => knownPrice(priceOf, usage, model) === undefined),
    hasPrice: (model) => knownPrice(priceOf, noTokens, model) !== undefined,
  }
}

/**
 * The price that the application's `priceOf` returns for a call. Undefined when `priceOf` throws or returns no valid price. A turn with a
 * money limit then ends, because its cost can not be compared with the limit.
 */
function knownPrice(priceOf: PriceOf, ...used: Parameters<PriceOf>): number | undefined {
  try {
    const price = priceOf(...used)
    return Number.isFinite(price) && (price as number) >= 0 ? price : undefined
  } catch {
    return undefined
  }
}

/** Adds the cost of the calls that a resumed turn made before its process died. */
export function restoreSpending(spending: Spending, changes: readonly Change[], turnId: string): void {
  for (const change of changes) if (change.type === 'response.received' && change.turn_id === turnId) spending.record(change)
}

/** Prices and cache rules of the providers. Without prices, a usage report contains only numbers of tokens. */
export interface Bookkeeping {
  readonly chargeOf: ChargeOf
  readonly rulesOf: RulesOf
}

export const noBookkeeping: Bookkeeping = { chargeOf: () => undefined, rulesOf: () => undefined }

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
