import type { ModelUsage } from '../model-event.ts'

/** Prices of a model per million tokens. `as_of` and `source` say when and where they were read, because prices change. */
export interface Price {
  /** The model as `provider/model`. Dated versions of the model have the same price. */
  readonly model: string
  readonly currency: 'USD'
  readonly input: number
  readonly cacheRead: number
  /** The price of a cache write. It equals `input` where writing costs nothing extra. */
  readonly cacheWrite: number
  /** The price of writing cache entries that live for an hour. By default it is `cacheWrite`. */
  readonly cacheWriteLong?: number
  readonly output: number
  /** These prices apply to prompts of up to this many tokens. Longer prompts need another row; without one their price is unknown. */
  readonly upTo?: number
  /** The first (`from`) and the last day (`until`) on which these prices apply, in UTC. */
  readonly from?: string
  readonly until?: string
  readonly as_of: string
  readonly source: string
}

/** The price of a call, in one currency. Undefined when it is not known; such a call is never treated as free. */
export type PriceOf = (usage: ModelUsage, model: string) => number | undefined

/** The price of a call at the time `at`, separately for each kind of tokens. Undefined when it is not known. */
export type ChargeOf = (usage: ModelUsage, model: string, at: string) => Charge | undefined

/** The price of a call for each kind of tokens, in whole billionths of the currency, so that sums are exact. */
export interface Charge {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

export const BILLION = 1_000_000_000

export const promptTokens = ({ uncached, cacheRead, cacheWrite }: ModelUsage): number => uncached + cacheRead + cacheWrite

export const totalOf = ({ uncached, cacheRead, cacheWrite, output }: Charge): number => uncached + cacheRead + cacheWrite + output

/** Multiplying by this turns a price per million tokens into billionths of the currency per token. */
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

/** Makes a function that finds the price of a call in a table. */
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

/** Whether `model` is `known` or a dated version of it. `gpt-5-mini` is not a version of `gpt-5` but another model. */
export function isVersionOf(model: string, known: string): boolean {
  return model.startsWith(known) && /^(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest))?$/.test(model.slice(known.length))
}
