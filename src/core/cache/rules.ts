/** How a provider caches prompts. The cache report uses these rules. Their values are in adapters/model/provider-rules.ts. */
export interface ProviderCacheRules {
  /**
   * With `marks`, the provider caches the prompt up to each mark. With `prefix`, the provider needs no marks. It compares each prompt with
   * the prompts that it has cached, and reads the longest common beginning from its cache.
   */
  readonly kind: 'marks' | 'prefix'
  /** The smallest number of tokens that the provider caches. It does not cache a shorter beginning of a prompt, and reports no error. */
  readonly minimumTokens: number
  /** How many parts the provider checks, going back from a mark, to find a cached prefix. This number includes the part with the mark. */
  readonly lookBackParts: number
  /** How many seconds the provider keeps a cached prompt after it was last used. */
  readonly ttlSeconds: number
  /**
   * How many seconds the provider keeps a cached prompt if the request asks for the longer caching time. Undefined when the provider has
   * only one caching time.
   */
  readonly longTtlSeconds?: number
  /** The greatest number of marks in one request, including the mark on the system text. */
  readonly maxMarks: number
}

/**
 * Returns the cache rules of a model. Returns undefined when the rules are not known. In this case the cache report shows no misses for
 * calls of this model.
 */
export type RulesOf = (model: string) => ProviderCacheRules | undefined
