import type { ModelUsage } from '../model-event.ts'

/** Prices of a model per million tokens. Prices change: `as_of` and `source` say when and where they were read. */
export interface Price {
  /** `provider/model`; dated versions of the model have the same price. */
  readonly model: string
  readonly currency: 'USD'
  readonly input: number
  readonly cacheRead: number
  /** The price of a cache write; equal to `input` where it costs nothing extra. */
  readonly cacheWrite: number
  /** The price of writing entries that are kept for an hour; defaults to `cacheWrite`. */
  readonly cacheWriteLong?: number
  readonly output: number
  /** The row applies to prompts of up to this many tokens. Longer ones need another row, or their price is not known. */
  readonly upTo?: number
  /** The first and the last day on which the row applies, UTC. */
  readonly from?: string
  readonly until?: string
  readonly as_of: string
  readonly source: string
}

/** The price of a call, in one currency. Undefined when it is not known, which is never treated as free. */
export type PriceOf = (usage: ModelUsage, model: string) => number | undefined

/** The price of a call by bucket, on the day of the call; undefined when it is not known. */
export type ChargeOf = (usage: ModelUsage, model: string, at: string) => Charge | undefined

/** Money in whole billionths of the currency, so that sums are exact. Reasoning tokens are part of the output. */
export interface Charge {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

export const BILLION = 1_000_000_000

export const promptTokens = ({ uncached, cacheRead, cacheWrite }: ModelUsage): number => uncached + cacheRead + cacheWrite

export const totalOf = ({ uncached, cacheRead, cacheWrite, output }: Charge): number => uncached + cacheRead + cacheWrite + output

/** From a price per million tokens to billionths of the currency per token. */
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

/** Charges from a table of prices. */
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

/** The model itself, or a dated version of it. `gpt-5-mini` is not a version of `gpt-5` but another model with another price. */
export function isVersionOf(model: string, known: string): boolean {
  return model.startsWith(known) && /^(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest))?$/.test(model.slice(known.length))
}
