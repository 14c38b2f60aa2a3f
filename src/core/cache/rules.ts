/** How a provider caches prompts, as far as the cache report needs it. adapters/model/provider-rules.ts has the values. */
export interface ProviderCacheRules {
  /** With `marks`, prefixes that end at a mark are cached. With `prefix`, the provider finds the longest known prefix without marks. */
  readonly kind: 'marks' | 'prefix'
  /** The shortest prefix that is cached, in tokens. Shorter ones are not cached, without an error. */
  readonly minimumTokens: number
  /** Over how many parts the provider looks back from a mark for a cached prefix, including the marked part. */
  readonly lookBackParts: number
  /** How long a cache entry lives after its last use. */
  readonly ttlSeconds: number
  /** How long a cache entry with the longer time to live lives, if the provider offers one. */
  readonly longTtlSeconds?: number
  /** The most marks in one request, including the mark on the system text. */
  readonly maxMarks: number
}

/** Finds the cache rules of a model. Undefined when they are not known; then no misses of the model are reported. */
export type RulesOf = (model: string) => ProviderCacheRules | undefined
