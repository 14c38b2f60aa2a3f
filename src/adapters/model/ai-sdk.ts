import { createHash } from 'node:crypto'
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { Part } from '../../core/render/types.ts'
import type { Model, ModelRequest, RequestTool } from '../../ports/model.ts'
import { type Omission, omittedParts, sentHashes } from './binary-limits.ts'
import { createCacheEnds, markOptions, selectMarks } from './cache-marks.ts'
import { type StartTimer, startSystemTimer } from './idle-timeout.ts'
import { buildPrompt, nonEmptyParts } from './prompt.ts'
import { imageTypes, knownModel, type MarkRules, markRulesOf, type ProviderRules, pdfTypes } from './provider-rules.ts'
import { streamCall } from './stream.ts'

/**
 * A model of the AI SDK, version 3 or 4 of its interface. Only the members that distinguish it from a `Model` are declared. The types of
 * the SDK are not used, because the SDK is an optional package: code must compile without it.
 */
export interface SdkModel {
  readonly specificationVersion: 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: never): PromiseLike<unknown>
}

/** Options of a model of the AI SDK. */
export interface ModelOptions {
  /** The maximum number of tokens of prompt and answer together. Needed only for models that provider-rules.ts does not list. */
  readonly window?: number
  readonly maxOutput?: number
  /**
   * How long the provider keeps a cached prompt, in seconds. It must be a value that the provider offers. Set `expiry.ttlSeconds` of the
   * agent to the same value.
   */
  readonly cacheTtlSeconds?: number
  /** Whether the model accepts images. Default: according to the rules of its provider. */
  readonly images?: boolean
  /** Whether the model accepts PDF documents. Default: according to the rules of its provider. */
  readonly documents?: boolean
  /** How much the model thinks before it answers. Default: the provider decides. */
  readonly reasoning?: 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  /** A call fails with a timeout when the provider sends nothing for this many milliseconds. Default: five minutes. */
  readonly stallMs?: number
  /** Starts the timer for `stallMs`. Tests replace it. */
  readonly startTimer?: StartTimer
}

interface SdkModelSource {
  /** `provider/model`, the name in prices and journals. */
  readonly name: string
  readonly provider: string
  /** The id that the provider gives to the model. */
  readonly modelId: string
  readonly rules: ProviderRules
  /** Loads the package of the provider and makes the model. Called when the model is first used. */
  open(): Promise<SdkModel>
  /** Keys that must not appear in any error. */
  readonly secrets: readonly string[]
}

/** Five minutes, because Node's HTTP client closes a silent connection after this time anyway. */
const defaultIdleMs = 300_000

/**
 * Wraps a model of the AI SDK as a `Model`. Each request is one call of `doStream`. The rules of the provider decide which parts get cache
 * marks, and which options are sent.
 */
export function aiSdkModel(source: SdkModelSource, options: ModelOptions = {}): Model {
  const { name, provider, modelId, secrets } = source
  const known = knownModel(source.rules, modelId)
  const markRules = markRulesOf(source.rules, modelId)
  checkCacheTtl(name, markRules, options.cacheTtlSeconds)
  const rules = withVisibleTypes(source.rules, options)
  const mark = markOptions(markRules, rules.optionsName, options.cacheTtlSeconds)
  const maxOutput = options.maxOutput ?? known?.maxOutput ?? Number.POSITIVE_INFINITY
  const cacheEnds = createCacheEnds()

  const refused = createRefusedBlobs()

  async function buildCall(
    request: ModelRequest,
    parts: readonly Part[],
    omitted: ReadonlyMap<number, Omission>,
    cacheEndKey: string,
  ): Promise<LanguageModelV4CallOptions> {
    const marks = selectMarks(parts, markRules, cacheEnds.get(cacheEndKey))
    return {
      prompt: await buildPrompt(request.system, parts, { omitted, marks, mark, read: request.read }),
      maxOutputTokens: Math.min(request.maxTokens, maxOutput),
      temperature: request.temperature,
      ...(request.tools && request.tools.length > 0 && { tools: request.tools.map(functionTool) }),
      ...(options.reasoning && { reasoning: options.reasoning }),
      ...providerOptions(rules, markRules, request.cacheKey),
    }
  }

  return {
    name,
    window: options.window ?? known?.window ?? rules.window,
    documents: rules.documents,
    dialect: rules.dialect,
    async *stream(request, signal) {
      const parts = nonEmptyParts(request.parts)
      const cacheEndKey = `${request.role} ${request.cacheKey}`
      const model = await source.open()

      async function* send(omitted: ReadonlyMap<number, Omission>): AsyncGenerator<ModelEvent> {
        const call = await buildCall(request, parts, omitted, cacheEndKey)
        for await (const event of streamCall(model, call, {
          name,
          provider,
          modelId,
          secrets,
          longWritesPath: rules.longWritesPath,
          offersTools: call.tools !== undefined,
          signal,
          idleMs: options.stallMs ?? defaultIdleMs,
          startTimer: options.startTimer ?? startSystemTimer,
        })) {
          if (event.type === 'finish') cacheEnds.set(cacheEndKey, lastMarkedPart(parts))
          yield event
        }
      }

      const omitted = omittedParts(parts, rules, refused.hashes)
      const sent = sentHashes(parts, omitted)
      for await (const event of send(omitted)) {
        if (event.type !== 'error' || sent.length === 0 || !isRejection(event.error)) {
          yield event
          continue
        }
        // An image or a document may be the reason for the error, so the request is sent again without images and documents. If the second
        // request also fails, the error of the first request is reported.
        const withoutBinaries = omittedParts(parts, rules, new Set([...refused.hashes, ...sent]))
        const answer = await firstEvent(send(withoutBinaries))
        if (answer.first.type === 'error') return yield event
        refused.add(sent)
        yield answer.first
        yield* answer.rest
        return
      }
    },
  }
}

/** Whether the provider rejected a request, perhaps because of its images or documents. */
const isRejection = ({ kind, stage }: ServiceError): boolean => kind === 'invalid_request' && stage === 'before_output'

/** The first event of a stream, and the stream after it. A stream of a call has at least one event. */
async function firstEvent(
  events: AsyncGenerator<ModelEvent>,
): Promise<{ readonly first: ModelEvent; readonly rest: AsyncGenerator<ModelEvent> }> {
  const { value } = await events.next()
  return { first: value as ModelEvent, rest: events }
}

/** The images and documents that the provider has refused. Only the latest 1,000 are kept. */
function createRefusedBlobs(limit = 1_000) {
  const hashes = new Set<string>()
  return {
    hashes: hashes as ReadonlySet<string>,
    add(added: readonly string[]): void {
      for (const hash of added) hashes.add(hash)
      for (const oldest of hashes) if (hashes.size > limit) hashes.delete(oldest)
    },
  }
}

/**
 * A tool as the AI SDK expects it. It has no cache mark of its own, because the mark after the system text also covers the tools. It is not
 * strict, because parameters may hold references such as `ref:fi:turn_1.files/a.md` in place of a value.
 */
const functionTool = ({ name, description, schema }: RequestTool): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description: description.toWellFormed(),
  inputSchema: schema,
})

function checkCacheTtl(name: string, { ttlSeconds }: MarkRules, wanted: number | undefined): void {
  if (wanted !== undefined && !ttlSeconds.includes(wanted)) {
    throw new RangeError(`${name} keeps cached prompts for ${ttlSeconds.join(' or ')} seconds, not for ${wanted}`)
  }
}

/** The rules of the provider, with images and documents allowed or not allowed as the options say. */
function withVisibleTypes(rules: ProviderRules, { images, documents }: ModelOptions): ProviderRules {
  const choose = (wanted: boolean | undefined, listed: readonly string[], all: readonly string[]) =>
    wanted === undefined ? listed : wanted ? (listed.length > 0 ? listed : all) : []
  return {
    ...rules,
    images: choose(images, rules.images, imageTypes),
    documents: choose(documents, rules.documents, pdfTypes),
  }
}

/** The options of the provider that apply to the whole call. (`markOptions` makes the options that apply to a single part.) */
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
 * The cache key that is sent to the provider. It is a hash, so that the provider does not learn conversation ids. It has 32 characters,
 * because OpenAI allows at most 64.
 */
const hashCacheKey = (cacheKey: string) => createHash('sha256').update(cacheKey).digest('hex').slice(0, 32)

function lastMarkedPart(parts: readonly Part[]): number | undefined {
  const last = parts.findLastIndex(({ cache }) => cache)
  return last === -1 ? undefined : last
}
