/** `daybook/models`: models by name or from the AI SDK, their prices, and a token counter. */

export type { ChargeOf, Price, PriceOf } from '../../core/cost/price.ts'
export type { TokenCounter } from '../../core/estimate/tokens.ts'
export type { Model } from '../../ports/model.ts'
export type { ModelOptions, SdkModel } from './ai-sdk.ts'
export type { StartTimer } from './idle-timeout.ts'
export { type ModelChoice, modelFrom, type NamedModelOptions } from './model-from.ts'
export { createChargeOf, createPriceOf, prices } from './prices.ts'
export { loadTokenCounter } from './token-counter.ts'
