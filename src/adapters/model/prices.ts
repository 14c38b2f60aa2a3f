import { chargesByPrice } from '../../core/cost/own-prices.ts'
import { BILLION, type ChargeOf, chargesFrom, type Price, type PriceOf, totalOf } from '../../core/cost/price.ts'

const usd = 'USD'
const claude = { currency: usd, as_of: '2026-10-08', source: 'platform.claude.com, pricing and model pages' } as const
const gpt = { currency: usd, source: 'developers.openai.com, pricing' } as const
const gemini = { currency: usd, as_of: '2026-10-14', source: 'ai.google.dev, pricing' } as const
/** The number of prompt tokens above which OpenAI charges the whole request at a higher price. */
const short = 272_000

/**
 * Prices in USD per million tokens, with the day on which they were read and the address of the page. The first row that fits a call
 * applies.
 */
export const prices: readonly Price[] = [
  { model: 'anthropic/claude-fable-5-1', input: 10, cacheRead: 0.25, cacheWrite: 12.5, cacheWriteLong: 20, output: 50, ...claude },
  { model: 'anthropic/claude-fable-5', input: 10, cacheRead: 1, cacheWrite: 12.5, cacheWriteLong: 20, output: 50, ...claude },
  { model: 'anthropic/claude-opus-5-5', input: 4, cacheRead: 0.2, cacheWrite: 5, cacheWriteLong: 8, output: 20, ...claude },
  { model: 'anthropic/claude-opus-5', input: 5, cacheRead: 0.5, cacheWrite: 6.25, cacheWriteLong: 10, output: 25, ...claude },
  { model: 'anthropic/claude-opus-4-8', input: 5, cacheRead: 0.5, cacheWrite: 6.25, cacheWriteLong: 10, output: 25, ...claude },
  { model: 'anthropic/claude-opus-4-7', input: 5, cacheRead: 0.5, cacheWrite: 6.25, cacheWriteLong: 10, output: 25, ...claude },
  { model: 'anthropic/claude-opus-4-6', input: 5, cacheRead: 0.5, cacheWrite: 6.25, cacheWriteLong: 10, output: 25, ...claude },
  { model: 'anthropic/claude-opus-4-5', input: 5, cacheRead: 0.5, cacheWrite: 6.25, cacheWriteLong: 10, output: 25, ...claude },
  { model: 'anthropic/claude-sonnet-5-5', input: 2, cacheRead: 0.2, cacheWrite: 2.5, cacheWriteLong: 4, output: 10, ...claude },
  { model: 'anthropic/claude-sonnet-5', input: 2, cacheRead: 0.2, cacheWrite: 2.5, cacheWriteLong: 4, output: 10, ...claude },
  { model: 'anthropic/claude-sonnet-4-6', input: 3, cacheRead: 0.3, cacheWrite: 3.75, cacheWriteLong: 6, output: 15, ...claude },
  { model: 'anthropic/claude-sonnet-4-5', input: 3, cacheRead: 0.3, cacheWrite: 3.75, cacheWriteLong: 6, output: 15, ...claude },
  {
    model: 'anthropic/claude-haiku-5-5',
    input: 0.1,
    cacheRead: 0.01,
    cacheWrite: 0.125,
    cacheWriteLong: 0.2,
    output: 0.5,
    upTo: 100_000,
    ...claude,
  },
  { model: 'anthropic/claude-haiku-5-5', input: 0.5, cacheRead: 0.05, cacheWrite: 0.625, cacheWriteLong: 1, output: 2.5, ...claude },
  { model: 'anthropic/claude-haiku-4-5', input: 1, cacheRead: 0.1, cacheWrite: 1.25, cacheWriteLong: 2, output: 5, ...claude },

  { model: 'openai/gpt-6-astra', input: 10, cacheRead: 1, cacheWrite: 12.5, output: 50, upTo: short, as_of: '2026-09-05', ...gpt },
  { model: 'openai/gpt-6-astra', input: 20, cacheRead: 2, cacheWrite: 25, output: 75, as_of: '2026-09-05', ...gpt },
  { model: 'openai/gpt-6.1-sol', input: 2, cacheRead: 0.1, cacheWrite: 2.5, output: 10, upTo: short, as_of: '2026-09-30', ...gpt },
  { model: 'openai/gpt-6.1-sol', input: 4, cacheRead: 0.2, cacheWrite: 5, output: 15, as_of: '2026-09-30', ...gpt },
  { model: 'openai/gpt-6-sol', input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10, upTo: short, as_of: '2026-09-22', ...gpt },
  { model: 'openai/gpt-6-luna', input: 0.1, cacheRead: 0.01, cacheWrite: 0.125, output: 0.5, upTo: short, as_of: '2026-09-22', ...gpt },
  { model: 'openai/gpt-5.6-sol', input: 4, cacheRead: 0.4, cacheWrite: 5, output: 20, upTo: short, as_of: '2026-10-03', ...gpt },
  { model: 'openai/gpt-5.6-terra', input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 12, upTo: short, as_of: '2026-10-03', ...gpt },
  { model: 'openai/gpt-5.6-luna', input: 0.2, cacheRead: 0.02, cacheWrite: 0.25, output: 1.2, upTo: short, as_of: '2026-10-03', ...gpt },
  { model: 'openai/gpt-5.5', input: 5, cacheRead: 0.5, cacheWrite: 5, output: 30, upTo: short, as_of: '2026-06-30', ...gpt },
  { model: 'openai/gpt-5.4', input: 2.5, cacheRead: 0.25, cacheWrite: 2.5, output: 15, upTo: short, as_of: '2026-06-30', ...gpt },
  { model: 'openai/gpt-5.4-mini', input: 0.75, cacheRead: 0.075, cacheWrite: 0.75, output: 4.5, upTo: short, as_of: '2026-06-30', ...gpt },
  { model: 'openai/gpt-5.4-nano', input: 0.2, cacheRead: 0.02, cacheWrite: 0.2, output: 1.25, upTo: short, as_of: '2026-06-30', ...gpt },
  { model: 'openai/gpt-4o', input: 2.5, cacheRead: 1.25, cacheWrite: 2.5, output: 10, as_of: '2026-06-30', ...gpt },
  { model: 'openai/gpt-4o-mini', input: 0.15, cacheRead: 0.075, cacheWrite: 0.15, output: 0.6, as_of: '2026-06-30', ...gpt },

  { model: 'google/gemini-4-argon', input: 2, cacheRead: 0.1, cacheWrite: 2, output: 10, until: '2026-11-30', ...gemini },
  { model: 'google/gemini-4-argon', input: 4, cacheRead: 0.2, cacheWrite: 4, output: 20, from: '2026-12-01', ...gemini },
  { model: 'google/gemini-3.8-flash', input: 0.75, cacheRead: 0.075, cacheWrite: 0.75, output: 3.75, until: '2026-12-31', ...gemini },
]

/** The price of the offline model, which costs nothing. Without this row its cost would be unknown. */
const offline: Price = {
  model: 'offline',
  currency: usd,
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  as_of: '2026-11-15',
  source: 'this package',
}

/** Makes a function that returns the price of a call in USD at the time `now()`. If no row fits, it returns undefined. */
export function createPriceOf(options: { readonly now: () => string; readonly prices?: readonly Price[] }): PriceOf {
  const chargeOf = createChargeOf(options.prices)
  const priceOf: PriceOf = (usage, model) => {
    const charge = chargeOf(usage, model, options.now())
    return charge && totalOf(charge) / BILLION
  }
  chargesOfPrices.set(priceOf, chargeOf)
  return priceOf
}

const chargesOfPrices = new WeakMap<PriceOf, ChargeOf>()

/**
 * The charges that belong to the setting `priceOf`, for reports. A function that `createPriceOf` made has a price for each kind of tokens
 * and for each day. Any other function returns one price for a call. The list prices then decide how this price is divided among the kinds
 * of tokens.
 */
export const chargeOfPrice = (priceOf: PriceOf): ChargeOf => chargesOfPrices.get(priceOf) ?? chargesByPrice(priceOf, createChargeOf())

/** Makes a function that returns the price of a call at any time, separately for each kind of tokens. */
export const createChargeOf = (rows: readonly Price[] = prices): ChargeOf => chargesFrom([...rows, offline])
