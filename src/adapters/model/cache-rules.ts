import type { ProviderCacheRules, RulesOf } from '../../core/cache/rules.ts'
import { knownModel, markRulesOf, providerRules } from './provider-rules.ts'

/** What a ledger may expect of `provider/model`. Undefined for whoever is not known to cache, or does not say that it does. */
export const cacheRulesOf: RulesOf = (name) => {
  const slash = name.indexOf('/')
  const provider = name.slice(0, Math.max(0, slash))
  if (!reportsCacheUse(provider)) return undefined
  const rules = providerRules[provider]
  const model = name.slice(slash + 1)
  const { form, maxMarks: most, ttlSeconds, minimumTokens, lookBack } = markRulesOf(rules, model)
  return {
    kind: form === 'automatic' ? 'prefix' : 'marks',
    minimumTokens: knownModel(rules, model)?.minimumTokens ?? minimumTokens,
    lookBackParts: lookBack,
    ttlSeconds: ttlSeconds[0] ?? 0,
    ...(ttlSeconds[1] !== undefined && { longTtlSeconds: ttlSeconds[1] }),
    maxMarks: most,
  } satisfies ProviderCacheRules
}

const reportingProviders = ['anthropic', 'openai', 'google'] as const

const reportsCacheUse = (provider: string): provider is (typeof reportingProviders)[number] =>
  (reportingProviders as readonly string[]).includes(provider)
