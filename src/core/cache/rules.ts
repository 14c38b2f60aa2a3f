/** How a provider caches prompts. The cache report uses these rules. Their values are in adapters/model/provider-rules.ts. */
export interface ProviderCacheRules {
  /**
   * With `marks`, the provider caches the prompt up to each mark. With `prefix`, it needs no marks: it finds the longest beginning of the
   * prompt that it knows.
   */
  readonly kind: 'marks' | 'prefix'
  /** The provider caches no beginning of a prompt that has fewer tokens than this. It reports no error. */
  readonly minimumTokens: number
  /** How many parts the provider checks, going back from a mark, to find a cached prefix. The part with the mark counts, too. */
  readonly lookBackParts: number
  /** How long a cache entry lives after it was last used. */
  readonly ttlSeconds: number
  /** How long an entry with the longer time to live lives after it was last used. Undefined when the provider has no such entries. */
  readonly longTtlSeconds?: number
  /** The greatest number of marks in one request, including the mark on the system text. */
  readonly maxMarks: number
}

/** Returns the cache rules of a model. Undefined when they are not known. Then the cache report shows no misses for calls of this model. */
export type RulesOf = (model: string) => ProviderCacheRules | undefined
