export type { ModelOptions, SdkModel } from './ai-sdk.ts'
export { type ModelChoice, modelFrom, type NamedModelOptions } from './model-from.ts'
export { createChargeOf, createPriceOf, prices } from './prices.ts'
export type { Alarm } from './stall.ts'
