// The package `daybook/models`: models by name or from the AI SDK, their prices and cache rules, and a token counter.

export type { RulesOf } from '../../core/cache/rules.ts'
export type { ChargeOf, Price, PriceOf } from '../../core/cost/price.ts'
export type { TokenCounter } from '../../core/estimate/tokens.ts'
export type { Embedder } from '../../ports/embedder.ts'
export type { Model } from '../../ports/model.ts'
export type { ModelOptions, SdkModel } from './ai-sdk.ts'
export { type EmbeddingChoice, embedderFrom, type SdkEmbeddingModel } from './embedding.ts'
export type { StartTimer } from './idle-timeout.ts'
export { type ModelChoice, modelFrom, type NamedModelOptions } from './model-from.ts'
export { createChargeOf, createPriceOf, prices } from './prices.ts'
export { cacheRulesOf } from './provider-rules.ts'
export { loadTokenCounter } from './token-counter.ts'
