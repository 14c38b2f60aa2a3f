import { createHash } from 'node:crypto'
import type { LanguageModelV3, LanguageModelV4, LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Part } from '../../core/render/types.ts'
import type { Model, ModelRequest } from '../../ports/model.ts'
import { createCacheEnds, selectMarks } from './cache-marks.ts'
import { type StartTimer, startSystemTimer } from './idle-timeout.ts'
import { buildPrompt, markOptions, nonEmptyParts } from './prompt.ts'
import { knownModel, type MarkRules, markRulesOf, type ProviderRules } from './provider-rules.ts'
import { streamCall } from './stream.ts'

/** A model of the AI SDK, of the two latest versions of its interface. */
export type SdkModel = LanguageModelV4 | LanguageModelV3

export interface ModelOptions {
  /** Tokens that fit into prompt and answer together, for a model that we do not know. */
  readonly window?: number
  readonly maxOutput?: number
  /** How long the provider shall keep a cached beginning. One of those it offers; tell the agent the same (`expiry.ttlSeconds`). */
  readonly cacheTtlSeconds?: number
  /** What the model can see, where we do not know it. */
  readonly images?: boolean
  readonly documents?: boolean
  readonly reasoning?: NonNullable<LanguageModelV4CallOptions['reasoning']>
  /** Silence after which a call is given up. */
  readonly stallMs?: number
  readonly alarm?: StartTimer
}

export interface SdkModelSource {
  /** As in prices and journals: `provider/model`. */
  readonly name: string
  readonly provider: string
  /** As the provider calls it. */
  readonly modelId: string
  readonly rules: ProviderRules
  /** Called before the first question, never before. */
  open(): Promise<SdkModel>
  readonly secrets: readonly string[]
}

/** The runtime ends a silent connection after five minutes by itself. */
const defaultIdleMs = 300_000

/** Any model of the AI SDK as a model of ours: one call of `doStream` per question, marks and options by the rules of its provider. */
export function aiSdkModel(wrapped: SdkModelSource, options: ModelOptions = {}): Model {
  const { name, provider, modelId, secrets } = wrapped
  const known = knownModel(wrapped.rules, modelId)
  const markRules = markRulesOf(wrapped.rules, modelId)
  checkCacheTtl(name, markRules, options.cacheTtlSeconds)
  const rules = withVisibleTypes(wrapped.rules, options)
  const mark = markOptions(markRules, rules.optionsName, options.cacheTtlSeconds)
  const maxOutput = options.maxOutput ?? known?.maxOutput ?? Number.POSITIVE_INFINITY
  const ends = createCacheEnds()

  async function callOf(request: ModelRequest, parts: readonly Part[], end: string): Promise<LanguageModelV4CallOptions> {
    const marks = selectMarks(parts, markRules, ends.of(end))
    return {
      prompt: await buildPrompt(request.system, parts, { rules, marks, mark, read: request.read }),
      maxOutputTokens: Math.min(request.maxTokens, maxOutput),
      temperature: request.temperature,
      ...(options.reasoning && { reasoning: options.reasoning }),
      ...callOptions(rules, markRules, request.cacheKey),
    }
  }

  return {
    name,
    window: options.window ?? known?.window ?? rules.window,
    documents: rules.documents,
    async *stream(request, signal) {
      const parts = nonEmptyParts(request.parts)
      const end = `${request.role} ${request.cacheKey}`
      const model = await wrapped.open()
      const call = await callOf(request, parts, end)
      for await (const event of streamCall(model, call, {
        name,
        provider,
        modelId,
        secrets,
        longWrites: rules.longWritesPath,
        signal,
        stallMs: options.stallMs ?? defaultIdleMs,
        alarm: options.alarm ?? startSystemTimer,
      })) {
        if (event.type === 'finish') ends.set(end, lastMarkedPart(parts))
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

const commonImageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const

function withVisibleTypes(rules: ProviderRules, { images, documents }: ModelOptions): ProviderRules {
  const shown = (wanted: boolean | undefined, usual: readonly string[], all: readonly string[]) =>
    wanted === undefined ? usual : wanted ? (usual.length > 0 ? usual : all) : []
  return {
    ...rules,
    images: shown(images, rules.images, commonImageTypes),
    documents: shown(documents, rules.documents, ['application/pdf']),
  }
}

/** What goes with the call, not with a part of it. */
function callOptions(
  { optionsName, callOptions: always }: ProviderRules,
  { form, takesCacheKey: takesKey }: MarkRules,
  cacheKey: string,
): { readonly providerOptions?: SharedV4ProviderOptions } {
  const said = {
    ...always,
    ...(takesKey && { promptCacheKey: hashCacheKey(cacheKey) }),
    ...(form === 'breakpoint' && { promptCacheOptions: { mode: 'explicit', ttl: '30m' } }),
  }
  return Object.keys(said).length === 0 ? {} : { providerOptions: { [optionsName]: said } }
}

/** The provider learns which calls belong together, not how we call our conversations. Short enough for its limit of 64. */
const hashCacheKey = (cacheKey: string) => createHash('sha256').update(cacheKey).digest('hex').slice(0, 32)

function lastMarkedPart(parts: readonly Part[]): number | undefined {
  const last = parts.findLastIndex(({ cache }) => cache)
  return last === -1 ? undefined : last
}
