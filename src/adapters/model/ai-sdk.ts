import { createHash } from 'node:crypto'
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Part } from '../../core/render/types.ts'
import type { Model, ModelRequest } from '../../ports/model.ts'
import { createCacheEnds, markOptions, selectMarks } from './cache-marks.ts'
import { type StartTimer, startSystemTimer } from './idle-timeout.ts'
import { buildPrompt, nonEmptyParts } from './prompt.ts'
import { imageTypes, knownModel, type MarkRules, markRulesOf, type ProviderRules, pdfTypes } from './provider-rules.ts'
import { streamCall } from './stream.ts'

/**
 * A model of the AI SDK, with version 3 or 4 of its interface. Only the members that distinguish it from a `Model` are listed. The SDK is an
 * optional package, so that its own types are not used: users must be able to compile without it.
 */
export interface SdkModel {
  readonly specificationVersion: 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: never): PromiseLike<unknown>
}

/** Options of a model of the AI SDK. */
export interface ModelOptions {
  /** The most tokens of prompt and answer together. Needed only for models that provider-rules.ts does not list. */
  readonly window?: number
  readonly maxOutput?: number
  /** How long the provider keeps a cached prefix: one of the values that it offers. Give the agent the same `expiry.ttlSeconds`. */
  readonly cacheTtlSeconds?: number
  /** Whether the model accepts images. Default: as listed for its provider. */
  readonly images?: boolean
  /** Whether the model accepts PDF documents. Default: as listed for its provider. */
  readonly documents?: boolean
  /** How much the model thinks before it answers. Default: as the provider chooses. */
  readonly reasoning?: 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  /** A call fails with a timeout when the provider sends nothing for this long. Default: five minutes. */
  readonly stallMs?: number
  /** Replaces the system timer in tests. */
  readonly startTimer?: StartTimer
}

interface SdkModelSource {
  /** `provider/model`, as in prices and journals. */
  readonly name: string
  readonly provider: string
  /** The provider's own id of the model. */
  readonly modelId: string
  readonly rules: ProviderRules
  /** Loads the provider's package and makes the model. It is called when the model is used. */
  open(): Promise<SdkModel>
  /** Keys that must not appear in any error. */
  readonly secrets: readonly string[]
}

/** Five minutes. After that time Node's HTTP client closes a silent connection anyway. */
const defaultIdleMs = 300_000

/** Wraps an AI SDK model as a `Model`. Each request is one `doStream` call, with cache marks and options by the rules of the provider. */
export function aiSdkModel(source: SdkModelSource, options: ModelOptions = {}): Model {
  const { name, provider, modelId, secrets } = source
  const known = knownModel(source.rules, modelId)
  const markRules = markRulesOf(source.rules, modelId)
  checkCacheTtl(name, markRules, options.cacheTtlSeconds)
  const rules = withVisibleTypes(source.rules, options)
  const mark = markOptions(markRules, rules.optionsName, options.cacheTtlSeconds)
  const maxOutput = options.maxOutput ?? known?.maxOutput ?? Number.POSITIVE_INFINITY
  const cacheEnds = createCacheEnds()

  async function buildCall(request: ModelRequest, parts: readonly Part[], cacheEndKey: string): Promise<LanguageModelV4CallOptions> {
    const marks = selectMarks(parts, markRules, cacheEnds.get(cacheEndKey))
    return {
      prompt: await buildPrompt(request.system, parts, { rules, marks, mark, read: request.read }),
      maxOutputTokens: Math.min(request.maxTokens, maxOutput),
      temperature: request.temperature,
      ...(options.reasoning && { reasoning: options.reasoning }),
      ...providerOptions(rules, markRules, request.cacheKey),
    }
  }

  return {
    name,
    window: options.window ?? known?.window ?? rules.window,
    documents: rules.documents,
    async *stream(request, signal) {
      const parts = nonEmptyParts(request.parts)
      const cacheEndKey = `${request.role} ${request.cacheKey}`
      const model = await source.open()
      const call = await buildCall(request, parts, cacheEndKey)
      for await (const event of streamCall(model, call, {
        name,
        provider,
        modelId,
        secrets,
        longWritesPath: rules.longWritesPath,
        signal,
        idleMs: options.stallMs ?? defaultIdleMs,
        startTimer: options.startTimer ?? startSystemTimer,
      })) {
        if (event.type === 'finish') cacheEnds.set(cacheEndKey, lastMarkedPart(parts))
        yield event
      }
    },
  }
}

function checkCacheTtl(name: string, { ttlSeconds }: MarkRules, wanted: number | undefined): void {
  if (wanted !== undefined && !ttlSeconds.includes(wanted)) {
    throw new RangeError(`${name} keeps cached prompts for ${ttlSeconds.join(' or ')} seconds, not for ${wanted}`)
  }
}

/** The rules with `images` and `documents` switched on or off by the options. */
function withVisibleTypes(rules: ProviderRules, { images, documents }: ModelOptions): ProviderRules {
  const choose = (wanted: boolean | undefined, listed: readonly string[], all: readonly string[]) =>
    wanted === undefined ? listed : wanted ? (listed.length > 0 ? listed : all) : []
  return {
    ...rules,
    images: choose(images, rules.images, imageTypes),
    documents: choose(documents, rules.documents, pdfTypes),
  }
}

/** The provider's options for the whole call. The options of a single part are in its cache mark. */
function providerOptions(
  { optionsName, callOptions }: ProviderRules,
  { form, takesCacheKey }: MarkRules,
  cacheKey: string,
): { readonly providerOptions?: SharedV4ProviderOptions } {
  const options = {
    ...callOptions,
    ...(takesCacheKey && { promptCacheKey: hashCacheKey(cacheKey) }),
    ...(form === 'breakpoint' && { promptCacheOptions: { mode: 'explicit', ttl: '30m' } }),
  }
  return Object.keys(options).length === 0 ? {} : { providerOptions: { [optionsName]: options } }
}

/**
 * The key that the provider gets. It is a hash, so that the provider does not learn conversation ids. It is cut to 32 characters; OpenAI
 * allows at most 64.
 */
const hashCacheKey = (cacheKey: string) => createHash('sha256').update(cacheKey).digest('hex').slice(0, 32)

function lastMarkedPart(parts: readonly Part[]): number | undefined {
  const last = parts.findLastIndex(({ cache }) => cache)
  return last === -1 ? undefined : last
}
