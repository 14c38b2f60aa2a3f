import type { ModelUsage } from '../model-event.ts'

/**
 * The prices of a model per million tokens. Because prices change, `as_of` has the day on which they were looked up, and `source` says
 * where they were found.
 */
export interface Price {
  /** The model as `provider/model`. The prices also apply to dated versions of the model. */
  readonly model: string
  readonly currency: 'USD'
  readonly input: number
  readonly cacheRead: number
  /** The price of writing to the cache. It equals `input` if the provider does not charge extra for writing. */
  readonly cacheWrite: number
  /** The price of writing cache entries that live for an hour. Default: `cacheWrite`. */
  readonly cacheWriteLong?: number
  readonly output: number
  /**
   * The prices apply to prompts of at most this many tokens. Longer prompts need another row in the table. Without such a row, their price
   * is not known.
   */
  readonly upTo?: number
  /** The first day on which the prices apply, in UTC. `until` is the last day. */
  readonly from?: string
  readonly until?: string
  readonly as_of: string
  readonly source: string
}

/**
 * Returns the price of a call, as an amount in the currency of the setting `maxMoney`. Undefined when the price is not known. Callers must
 * not treat an unknown price as 0.
 */
export type PriceOf = (usage: ModelUsage, model: string) => number | undefined

/** Returns the price of a call at the time `at`, separately for each kind of tokens. Undefined when it is not known. */
export type ChargeOf = (usage: ModelUsage, model: string, at: string) => Charge | undefined

/** The price of a call for each kind of tokens. Prices are in whole billionths of a US dollar, so that sums of them are exact. */
export interface Charge {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

export const BILLION = 1_000_000_000

export const promptTokens = ({ uncached, cacheRead, cacheWrite }: ModelUsage): number => uncached + cacheRead + cacheWrite

export const totalOf = ({ uncached, cacheRead, cacheWrite, output }: Charge): number => uncached + cacheRead + cacheWrite + output

/** A price is in dollars per million tokens. Multiplied by this factor, it is in billionths of a dollar per token. */
const PER_TOKEN = 1_000

export function chargeFor(usage: ModelUsage, price: Price): Charge {
  const { cacheWriteLong: long = 0 } = usage
  const writes = (usage.cacheWrite - long) * price.cacheWrite + long * (price.cacheWriteLong ?? price.cacheWrite)
  return {
    uncached: Math.round(usage.uncached * price.input * PER_TOKEN),
    cacheRead: Math.round(usage.cacheRead * price.cacheRead * PER_TOKEN),
    cacheWrite: Math.round(writes * PER_TOKEN),
    output: Math.round(usage.output * price.output * PER_TOKEN),
  }
}

/** Makes a function that computes the price of a call from a table of prices. */
export function chargesFrom(rows: readonly Price[]): ChargeOf {
  return (usage, model, at) => {
    const price = priceFor(rows, model, promptTokens(usage), at)
    return price && chargeFor(usage, price)
  }
}

function priceFor(rows: readonly Price[], model: string, tokens: number, now: string): Price | undefined {
  const day = now.slice(0, 10)
  return rows.find(
    (row) =>
      isVersionOf(model, row.model) &&
      tokens <= (row.upTo ?? Number.POSITIVE_INFINITY) &&
      (row.from === undefined || row.from <= day) &&
      (row.until === undefined || day <= row.until),
  )
}

/** True when `model` is `known` or a dated version of it. `gpt-5-mini` is not a version of `gpt-5` but another model. */
export function isVersionOf(model: string, known: string): boolean {
  return model.startsWith(known) && /^(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest))?$/.test(model.slice(known.length))
}
