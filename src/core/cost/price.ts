import type { ModelUsage } from '../model-event.ts'

/** What a model costs, per million tokens. Prices change: a row says when it was read, and where. */
export interface Price {
  /** `provider/model`; dated versions of it cost the same. */
  readonly model: string
  readonly currency: 'USD'
  readonly input: number
  readonly cacheRead: number
  /** Where writing costs nothing extra, the price of input. */
  readonly cacheWrite: number
  /** Written to live for an hour; as `cacheWrite` when not said. */
  readonly cacheWriteLong?: number
  readonly output: number
  /** Holds for prompts of up to so many tokens. Longer ones need a row of their own, or their price is not known. */
  readonly upTo?: number
  /** The first and the last day on which it holds, UTC. */
  readonly from?: string
  readonly until?: string
  readonly as_of: string
  readonly source: string
}

/** What a call of a model costs, in one currency. Undefined: nobody knows; that is never taken for nothing. */
export type PriceOf = (usage: ModelUsage, model: string) => number | undefined

/** The same by bucket, at the time of the call. */
export type ChargeOf = (usage: ModelUsage, model: string, at: string) => Charge | undefined

/** Money in whole billionths of the currency, so that parts add up to the whole to the last digit. Reasoning is part of the output. */
export interface Charge {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

export const BILLION = 1_000_000_000

export const promptTokens = ({ uncached, cacheRead, cacheWrite }: ModelUsage): number => uncached + cacheRead + cacheWrite

export const totalOf = ({ uncached, cacheRead, cacheWrite, output }: Charge): number => uncached + cacheRead + cacheWrite + output

/** A million tokens at 1 are a billion billionths. */
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

/** From a table, by the day of the call. */
export function chargesFrom(rows: readonly Price[]): ChargeOf {
  return (usage, model, at) => {
    const price = priceFor(rows, model, promptTokens(usage), at)
    return price && chargeFor(usage, price)
  }
}

export function priceFor(rows: readonly Price[], model: string, tokens: number, now: string): Price | undefined {
  const day = now.slice(0, 10)
  return rows.find(
    (row) =>
      isVersionOf(model, row.model) &&
      tokens <= (row.upTo ?? Number.POSITIVE_INFINITY) &&
      (row.from === undefined || row.from <= day) &&
      (row.until === undefined || day <= row.until),
  )
}

/** The model itself, or one of its dated versions. `gpt-5-mini` is no version of `gpt-5`: it is another model at another price. */
export function isVersionOf(model: string, known: string): boolean {
  return model.startsWith(known) && /^(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest))?$/.test(model.slice(known.length))
}
