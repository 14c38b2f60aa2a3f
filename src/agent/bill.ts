import type { PriceOf } from '../core/cost/price.ts'
import { paidFor } from '../core/cost/usage.ts'
import type { Change } from '../core/timeline/change.ts'

/** What the turns of a conversation have cost, read off the responses as they are entered: titles and summaries included. */
export interface Bill {
  take(change: Change): void
  of(turnId: string): Spent
}

export interface Spent {
  readonly money: number
  /** Something was used whose price is not known: `money` is too little. */
  readonly unpriced: boolean
  /** The latest decision: what the next is likely to cost. */
  readonly last: number
}

const nothing: Spent = { money: 0, unpriced: false, last: 0 }

/** Where nobody has named prices. */
const noBill: Bill = { take: () => {}, of: () => nothing }

export function createBill(priceOf: PriceOf | undefined): Bill {
  if (priceOf === undefined) return noBill
  const spent = new Map<string, Spent>()
  return {
    take(change) {
      if (change.type !== 'response.received') return
      for (const { usage, model } of paidFor(change)) {
        const before = spent.get(change.turn_id) ?? nothing
        const price = priced(priceOf, usage, model)
        spent.set(change.turn_id, {
          money: before.money + (price ?? 0),
          unpriced: before.unpriced || price === undefined,
          last: change.role === undefined ? (price ?? 0) : before.last,
        })
      }
    },
    of: (turnId) => spent.get(turnId) ?? nothing,
  }
}

/** A price that cannot be told, or is none, is not known. */
function priced(priceOf: PriceOf, ...used: Parameters<PriceOf>): number | undefined {
  try {
    const price = priceOf(...used)
    return price !== undefined && price >= 0 ? price : undefined
  } catch {
    return undefined // a limit that cannot be kept ends the turn, which says so
  }
}

/** What a turn that is taken up had spent before its process died, read off its own entries. */
export function recallBill(bill: Bill, changes: readonly Change[], turnId: string): void {
  for (const change of changes) if (change.type === 'response.received' && change.turn_id === turnId) bill.take(change)
}
