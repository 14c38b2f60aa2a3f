import type { ProviderCacheRules, RulesOf } from '../../core/cache/rules.ts'
import { isVersionOf } from '../../core/cost/price.ts'
import type { Dialect } from '../../core/model-event.ts'
import type { BinaryLimits } from './binary-limits.ts'

/**
 * Data about a provider: how its models cache prompts, which media types they accept, and the context sizes of known models. Other data is
 * in providers.ts (packages and keys), prices.ts and service-error.ts (errors).
 */
export interface ProviderRules {
  /** The name under which the AI SDK expects options for this provider. */
  readonly optionsName: string
  readonly marks: readonly MarkRules[]
  /** The media types of images that the models accept. An image of another type is replaced by a line of text. */
  readonly images: readonly string[]
  /** The media types of documents that the models accept. A document of another type is replaced by a line of text. */
  readonly documents: readonly string[]
  /**
   * How many images and documents one request may have, and how large they may be. Images and documents above these limits are replaced by
   * a line of text.
   */
  readonly binaries: BinaryLimits
  /** The path in the provider's raw usage to the number of tokens that were cached for an hour. */
  readonly longWritesPath?: readonly string[]
  /**
   * The dialect of the models, unless the setting `dialect` chooses another. Widely used models follow the channels of Daybook well, and
   * channels cost fewer tokens. Small and unknown models do better with the tool calls that they were trained for.
   */
  readonly dialect: Dialect
  /** Options that are sent to this provider with every call. */
  readonly callOptions?: Readonly<Record<string, boolean>>
  /** The context size, in tokens, of models that `models` does not list. */
  readonly window: number
  readonly models: readonly KnownModel[]
}

/**
 * How some models of a provider cache prompts. If a provider has several rules, the first rule whose pattern matches the model id applies.
 */
export interface MarkRules {
  readonly models: RegExp
  /**
   * How a part is marked:
   *
   * - `cache-control` (Anthropic) and `breakpoint` (OpenAI since GPT-5.6): an option on a part. The provider caches the prompt up to this
   *   part.
   * - `automatic`: no marks. The provider caches every prompt and finds the longest cached beginning itself.
   */
  readonly form: 'cache-control' | 'breakpoint' | 'automatic'
  /** The maximum number of marks in a request, including the mark on the system text. */
  readonly maxMarks: number
  /** The possible times for which the provider keeps a cached prompt. The first is the default. */
  readonly ttlSeconds: readonly number[]
  /** The length in tokens from which a prompt is cached. Marks on shorter prompts have no effect. `KnownModel` may have another minimum. */
  readonly minimumTokens: number
  /**
   * How many parts the provider examines to find the end of a cached prompt. It starts at the marked part and goes backwards. With 1, it
   * examines only the marked part.
   */
  readonly lookBack: number
  /**
   * Whether a call has a cache key. The provider uses the key to route all calls of a conversation to the machine that has the conversation
   * in its cache.
   */
  readonly takesCacheKey?: true
}

interface KnownModel {
  readonly id: string
  /** The maximum number of tokens of prompt and answer together. */
  readonly window: number
  readonly maxOutput: number
  readonly minimumTokens?: number
}

export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
export const pdfTypes = ['application/pdf'] as const
const million = 1_000_000
const mebibyte = 1_048_576
const automaticCache: MarkRules = { models: /^/, form: 'automatic', maxMarks: 0, ttlSeconds: [300], minimumTokens: 0, lookBack: 0 }

const megabyte = 1_000_000

const anthropic: ProviderRules = {
  optionsName: 'anthropic',
  dialect: 'channels',
  marks: [{ models: /^/, form: 'cache-control', maxMarks: 4, ttlSeconds: [300, 3_600], minimumTokens: 1_024, lookBack: 20 }],
  images: imageTypes,
  documents: pdfTypes,
  // in base64, an image may have 5 MiB, and the whole request 32 MB
  binaries: { bytes: 3_900_000, totalBytes: 20 * megabyte, count: 100, pixels: 8_000, many: { count: 20, pixels: 2_000 }, pages: 600 },
  longWritesPath: ['cache_creation', 'ephemeral_1h_input_tokens'],
  // with this option the provider sends events while the model thinks, so that the idle timeout does not end the call
  callOptions: { includePings: true },
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
  dialect: 'channels',
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
  binaries: { bytes: 20 * megabyte, totalBytes: 35 * megabyte, count: 500, pixels: 16_000, pages: 1_000 },
  callOptions: { store: false }, // with this option, OpenAI stores no copy of the conversation
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
  dialect: 'channels',
  marks: [{ models: /^/, form: 'automatic', maxMarks: 0, ttlSeconds: [300], minimumTokens: 4_096, lookBack: 0 }],
  images: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  documents: pdfTypes,
  // in base64, the whole request may have 20 MB
  binaries: { bytes: 14 * megabyte, totalBytes: 14 * megabyte, count: 900, pixels: 16_000, pages: 1_000 },
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

/**
 * The rules for servers with OpenAI's chat completions API. Many of their models accept only text. Therefore images are sent only if the
 * option `images` is set.
 */
const compatible: ProviderRules = {
  optionsName: 'compatible',
  dialect: 'native',
  marks: [automaticCache],
  images: [],
  documents: [],
  binaries: { bytes: 10 * megabyte, totalBytes: 20 * megabyte, count: 50, pixels: 8_000, pages: 100 },
  window: 32_768,
  models: [],
}

/** The rules for other models of the AI SDK. Images are sent, because most of these models accept them. */
const unknown: ProviderRules = { ...compatible, optionsName: 'unknown', images: imageTypes, window: 128_000 }

export const providerRules = { anthropic, openai, google, ollama: compatible, compatible, unknown } as const
export type RulesName = keyof typeof providerRules

/**
 * The rules for a model of the AI SDK, by the name of its provider: `anthropic.messages`, `vertex.anthropic.messages`, `openai.responses`.
 */
export function rulesNameOf(provider: string): RulesName {
  const [first = ''] = provider.split('.')
  if (provider.split('.').includes('anthropic')) return 'anthropic'
  if (provider === 'openai.responses') return 'openai'
  if (first === 'google') return 'google'
  return first === 'ollama' || first === 'compatible' ? first : 'unknown'
}

/** The cache rules of one model. */
export const markRulesOf = (rules: ProviderRules, model: string): MarkRules =>
  rules.marks.find(({ models }) => models.test(model)) ?? automaticCache

/** The entry of a model in the table. Dated versions such as `gpt-4o-2024-11-20` have the entry of their base model. */
export const knownModel = (rules: ProviderRules, model: string): KnownModel | undefined =>
  rules.models.find(({ id }) => isVersionOf(model, id))

/** The cache rules of `provider/model`, for the cache report. Undefined for providers that do not report cached tokens. */
export const cacheRulesOf: RulesOf = (name) => {
  const slash = name.indexOf('/')
  const provider = name.slice(0, Math.max(0, slash))
  if (!reportsCacheUse(provider)) return undefined
  const rules = providerRules[provider]
  const model = name.slice(slash + 1)
  const { form, maxMarks, ttlSeconds, minimumTokens, lookBack } = markRulesOf(rules, model)
  return {
    kind: form === 'automatic' ? 'prefix' : 'marks',
    minimumTokens: knownModel(rules, model)?.minimumTokens ?? minimumTokens,
    lookBackParts: lookBack,
    ttlSeconds: ttlSeconds[0] ?? 0,
    ...(ttlSeconds[1] !== undefined && { longTtlSeconds: ttlSeconds[1] }),
    maxMarks,
  } satisfies ProviderCacheRules
}

const reportingProviders = ['anthropic', 'openai', 'google'] as const

const reportsCacheUse = (provider: string): provider is (typeof reportingProviders)[number] =>
  (reportingProviders as readonly string[]).includes(provider)
