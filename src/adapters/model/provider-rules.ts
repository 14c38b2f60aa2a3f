import type { ProviderCacheRules, RulesOf } from '../../core/cache/rules.ts'
import { isVersionOf } from '../../core/cost/price.ts'

/**
 * What is true of each provider, as data: how a cache mark is written and how many there may be, how long and from what size on
 * something is cached, what a model can look at, and how much fits into the models we know. Nothing else in this folder knows a
 * provider by name, but for how to open one (providers.ts) and what it costs (prices.ts).
 */
export interface ProviderRules {
  /** Under this name a call carries options for the provider. */
  readonly optionsName: string
  readonly marks: readonly MarkRules[]
  /** What it can be shown besides text. Anything else becomes a line of text that says what was there. */
  readonly images: readonly string[]
  readonly documents: readonly string[]
  /** Where the provider's own usage says how much was written to live for an hour. */
  readonly longWritesPath?: readonly string[]
  /** Said with every call. */
  readonly callOptions?: Readonly<Record<string, boolean>>
  /** For models that are not listed. */
  readonly window: number
  readonly models: readonly KnownModel[]
}

/** How models of a provider cache a prompt. The first rule that fits the name of the model holds. */
export interface MarkRules {
  readonly models: RegExp
  /**
   * `cache-control`: a mark on a part writes an entry there (Anthropic). `breakpoint`: the same, with a key that keeps the calls
   * of a conversation together (OpenAI since GPT-5.6). `automatic`: the longest known beginning is found without being told.
   */
  readonly form: 'cache-control' | 'breakpoint' | 'automatic'
  /** Marks in a request, the system text's included. */
  readonly maxMarks: number
  /** Lives that an entry may have, the usual one first. */
  readonly ttlSeconds: readonly number[]
  /** Shorter beginnings are not cached, and nobody says so. A model may have its own. */
  readonly minimumTokens: number
  /** Parts looked at from a mark backwards, the marked one included; 1: an entry is found only where a mark stands now. */
  readonly lookBack: number
  /** Whether calls take a key by which the provider keeps a conversation on the machine that knows it. */
  readonly takesCacheKey?: true
}

export interface KnownModel {
  readonly id: string
  /** Tokens of prompt and answer together. */
  readonly window: number
  readonly maxOutput: number
  readonly minimumTokens?: number
}

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
const pdfTypes = ['application/pdf'] as const
const million = 1_000_000
const mebibyte = 1_048_576

const anthropic: ProviderRules = {
  optionsName: 'anthropic',
  marks: [{ models: /^/, form: 'cache-control', maxMarks: 4, ttlSeconds: [300, 3_600], minimumTokens: 1_024, lookBack: 20 }],
  images: imageTypes,
  documents: pdfTypes,
  longWritesPath: ['cache_creation', 'ephemeral_1h_input_tokens'],
  callOptions: { includePings: true }, // a model that thinks in silence is alive: what stalls is the line
  window: 200_000,
  models: [
    { id: 'claude-fable-5-1', window: million, maxOutput: 128_000, minimumTokens: 512 },
    { id: 'claude-fable-5', window: million, maxOutput: 128_000, minimumTokens: 512 },
    { id: 'claude-opus-5-5', window: million, maxOutput: 128_000 },
    { id: 'claude-opus-5', window: million, maxOutput: 128_000, minimumTokens: 512 },
    { id: 'claude-opus-4-8', window: million, maxOutput: 128_000 },
    { id: 'claude-opus-4-7', window: million, maxOutput: 128_000, minimumTokens: 2_048 },
    { id: 'claude-opus-4-6', window: 200_000, maxOutput: 128_000, minimumTokens: 4_096 },
    { id: 'claude-opus-4-5', window: 200_000, maxOutput: 64_000, minimumTokens: 4_096 },
    { id: 'claude-sonnet-5-5', window: million, maxOutput: 128_000 },
    { id: 'claude-sonnet-5', window: million, maxOutput: 128_000 },
    { id: 'claude-sonnet-4-6', window: 200_000, maxOutput: 128_000 },
    { id: 'claude-sonnet-4-5', window: 200_000, maxOutput: 64_000 },
    { id: 'claude-haiku-5-5', window: million, maxOutput: 128_000 },
    { id: 'claude-haiku-4-5', window: 200_000, maxOutput: 64_000, minimumTokens: 4_096 },
  ],
}

const openai: ProviderRules = {
  optionsName: 'openai',
  marks: [
    {
      models: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/,
      form: 'breakpoint',
      maxMarks: 4,
      ttlSeconds: [1_800],
      minimumTokens: 1_024,
      lookBack: 1,
      takesCacheKey: true,
    },
    { models: /^/, form: 'automatic', maxMarks: 0, ttlSeconds: [300], minimumTokens: 1_024, lookBack: 0, takesCacheKey: true },
  ],
  images: imageTypes,
  documents: pdfTypes,
  callOptions: { store: false }, // a conversation is kept here, and nowhere else
  window: 128_000,
  models: [
    { id: 'gpt-6-astra', window: 1_050_000, maxOutput: 128_000 },
    { id: 'gpt-6-sol', window: 872_000, maxOutput: 128_000 },
    { id: 'gpt-6-luna', window: million, maxOutput: 128_000 },
    { id: 'gpt-5.5', window: million, maxOutput: 128_000 },
    { id: 'gpt-5.4', window: million, maxOutput: 128_000 },
    { id: 'gpt-5.2', window: 400_000, maxOutput: 128_000 },
    { id: 'gpt-5.1', window: 400_000, maxOutput: 128_000 },
    { id: 'gpt-5', window: 400_000, maxOutput: 128_000 },
    { id: 'gpt-5-mini', window: 400_000, maxOutput: 128_000 },
    { id: 'gpt-4.1', window: 1_047_576, maxOutput: 32_768 },
    { id: 'gpt-4.1-mini', window: 1_047_576, maxOutput: 32_768 },
    { id: 'gpt-4o', window: 128_000, maxOutput: 16_384 },
    { id: 'gpt-4o-mini', window: 128_000, maxOutput: 16_384 },
  ],
}

const google: ProviderRules = {
  optionsName: 'google',
  marks: [{ models: /^/, form: 'automatic', maxMarks: 0, ttlSeconds: [300], minimumTokens: 4_096, lookBack: 0 }],
  images: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  documents: pdfTypes,
  window: mebibyte,
  models: [
    { id: 'gemini-4-argon', window: mebibyte, maxOutput: 65_536 },
    { id: 'gemini-3.8-flash', window: mebibyte, maxOutput: 65_536 },
    { id: 'gemini-3.6-flash', window: mebibyte, maxOutput: 65_536 },
    { id: 'gemini-3.1-pro-preview', window: mebibyte, maxOutput: 65_536 },
    { id: 'gemini-2.5-pro', window: mebibyte, maxOutput: 65_536, minimumTokens: 2_048 },
    { id: 'gemini-2.5-flash', window: mebibyte, maxOutput: 65_536, minimumTokens: 2_048 },
  ],
}

/** Whoever speaks chat completions. Many of these models see text only and fail at anything else, so pictures are asked for by name. */
const compatible: ProviderRules = {
  optionsName: 'compatible',
  marks: [{ models: /^/, form: 'automatic', maxMarks: 0, ttlSeconds: [300], minimumTokens: 0, lookBack: 0 }],
  images: [],
  documents: [],
  window: 32_768,
  models: [],
}

/** A model that was handed to us and that the table does not know. Whoever chose it knows what it can see. */
const unknown: ProviderRules = { ...compatible, optionsName: 'unknown', images: imageTypes, window: 128_000 }

export const providerRules = { anthropic, openai, google, ollama: compatible, compatible, unknown } as const
export type RulesName = keyof typeof providerRules

/** By the name that a model of the AI SDK gives its provider: `anthropic.messages`, `vertex.anthropic.messages`, `openai.responses`. */
export function rulesNameOf(provider: string): RulesName {
  const [first = ''] = provider.split('.')
  if (provider.split('.').includes('anthropic')) return 'anthropic'
  if (provider === 'openai.responses') return 'openai'
  if (first === 'google') return 'google'
  return first === 'ollama' || first === 'compatible' ? first : 'unknown'
}

export const markRulesOf = (rules: ProviderRules, model: string): MarkRules =>
  rules.marks.find(({ models }) => models.test(model)) ?? noMarks

const noMarks: MarkRules = { models: /^/, form: 'automatic', maxMarks: 0, ttlSeconds: [300], minimumTokens: 0, lookBack: 0 }

export const knownModel = (rules: ProviderRules, model: string): KnownModel | undefined =>
  rules.models.find(({ id }) => isVersionOf(model, id))

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
