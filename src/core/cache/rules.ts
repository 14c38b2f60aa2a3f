/** How a provider caches prompts, as far as the cache report needs it. The values are kept with the model adapters. */
export interface ProviderCacheRules {
  /** `marks`: prefixes that end at a mark are cached. `prefix`: the longest known prefix is found without marks. */
  readonly kind: 'marks' | 'prefix'
  /** The shortest prefix that is cached; the provider ignores shorter ones without an error. */
  readonly minimumTokens: number
  /** How many parts the provider looks back from a mark, including the marked part. */
  readonly lookBackParts: number
  /** How long an entry is kept after its last use. */
  readonly ttlSeconds: number
  /** How long entries with the longer time to live are kept, for providers that have them. */
  readonly longTtlSeconds?: number
  /** Marks in one request, including that of the system text. */
  readonly maxMarks: number
}

/** Finds the cache rules of a model. Undefined when they are not known: then no misses are reported for it. */
export type RulesOf = (model: string) => ProviderCacheRules | undefined
