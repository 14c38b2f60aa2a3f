/** How a provider caches prompts, as far as a ledger needs to know. Data, kept with the adapters. */
export interface ProviderCacheRules {
  /** `marks`: what ends at a mark is kept. `prefix`: the longest known beginning is found without being told. */
  readonly kind: 'marks' | 'prefix'
  /** A shorter beginning is not kept, and nobody says so. */
  readonly minimumTokens: number
  /** Parts looked at from a mark backwards, itself included. */
  readonly lookBackParts: number
  /** How long something is kept after its last use. */
  readonly ttlSeconds: number
  /** The same for what was written to live longer, where there is such a thing. */
  readonly longTtlSeconds?: number
  /** In one request, the system text's included. */
  readonly maxMarks: number
}

/** Undefined: nobody knows how this model caches, so nothing can be expected of it. */
export type RulesOf = (model: string) => ProviderCacheRules | undefined
