import type {
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import type { FinishReason, ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { SdkModel } from './ai-sdk.ts'
import { createCallReader, isMalformedCall } from './call-events.ts'
import { type Interruption, type WaitOptions, withIdleTimeout } from './idle-timeout.ts'
import { toV3Prompt } from './prompt.ts'
import { safeName } from './redact.ts'
import { type CallInfo, type Classification, standardError, toServiceError } from './service-error.ts'
import { isUnknownEvent } from './unknown-event.ts'
import { parseUsage } from './usage.ts'

interface StreamOptions extends WaitOptions {
  /** `provider/model` */
  readonly name: string
  readonly provider: string
  readonly modelId: string
  readonly secrets: readonly string[]
  readonly longWritesPath: readonly string[] | undefined
  /** Whether the request has tools that the model may call. */
  readonly offersTools: boolean
}

type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart
type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>
type SdkUsage = FinishPart['usage']
type ModelErrorEvent = Extract<ModelEvent, { type: 'error' }>

const connectionLost: Classification = { kind: 'connection', retryable: true }
const contentFiltered: Classification = { kind: 'content_filter', retryable: false }
const providerFailed: Classification = { kind: 'unknown', retryable: true }
const tooLong: Classification = { kind: 'malformed_response', retryable: false }
const interruptions: { readonly [I in Interruption]: Classification } = {
  aborted: { kind: 'aborted', retryable: false },
  stalled: { kind: 'timeout', retryable: true },
}

/**
 * The maximum length of a response, in characters per token of `maxOutputTokens`. Real tokens are much shorter. So if a response is longer
 * than this maximum, the provider ignores `maxOutputTokens`, and the call ends with an error.
 */
const maxCharactersPerToken = 64

/**
 * Makes one call and yields its events. The last event is `finish` or `error`. An error of the provider becomes the `error` event. Only a
 * `Failure` of Daybook itself is thrown. Whenever the generator ends, the connection is closed.
 */
export async function* streamCall(model: SdkModel, call: LanguageModelV4CallOptions, options: StreamOptions): AsyncGenerator<ModelEvent> {
  const connection = new AbortController()
  const abortSignal = AbortSignal.any([options.signal, connection.signal])
  const info: CallInfo = { provider: options.provider, model: options.modelId, secrets: options.secrets, now: Date.now }
  const maxCharacters = maxCharactersPerToken * (call.maxOutputTokens ?? Number.POSITIVE_INFINITY)
  let characters = 0
  let hasOutput = false
  const stage = (): ServiceError['stage'] => (hasOutput ? 'after_output' : 'before_output')
  const errorEvent = (reason: Classification): ModelErrorEvent => ({ type: 'error', error: standardError(reason, stage(), info) })
  let close = async () => {}
  try {
    const opened = await withIdleTimeout(openStream(model, { ...call, abortSignal }), options)
    if (typeof opened === 'string') return yield errorEvent(interruptions[opened])
    const reader = opened.value.getReader()
    close = () => reader.cancel()
    const metadata: ResponseMetadata = {}
    const calls = createCallReader()
    for (;;) {
      const step = await withIdleTimeout(reader.read(), options)
      if (typeof step === 'string') return yield errorEvent(interruptions[step])
      if (step.value.done) return yield errorEvent(connectionLost) // a complete stream ends with a finish part, so this one broke off
      const part = step.value.value
      if (part.type === 'error') {
        if (isUnknownEvent(part.error)) continue
        const error = toServiceError(part.error, stage(), info)
        return yield withUsage({ type: 'error', error }, await usageAfterError(reader, options), options, hasOutput)
      }
      if (part.type === 'response-metadata') Object.assign(metadata, { id: part.id, modelId: part.modelId })
      if (part.type === 'finish' && options.offersTools && isMalformedCall(part)) yield calls.nameless()
      if (part.type === 'finish')
        return yield finishEvent(part, metadata, options, hasOutput) ??
          withUsage(errorEvent(classifyFinish(part)), part.usage, options, hasOutput)
      const delta = deltaOf(part)
      const events = delta ? [delta] : calls.eventsOf(part)
      for (const event of events) {
        characters += 'text' in event ? event.text.length : 0
        if (characters > maxCharacters) return yield errorEvent(tooLong)
        hasOutput ||= event.type !== 'reasoning.delta'
        yield event
      }
    }
  } catch (error) {
    if (error instanceof Failure) throw error // an error of Daybook, not of the provider
    yield options.signal.aborted ? errorEvent(interruptions.aborted) : { type: 'error', error: toServiceError(error, stage(), info) }
  } finally {
    connection.abort()
    await close().catch(() => {}) // cancelling a broken stream rejects; the stream has ended anyway
  }
}

async function openStream(model: SdkModel, call: LanguageModelV4CallOptions): Promise<ReadableStream<StreamPart>> {
  if (model.specificationVersion === 'v4') return (await (model as LanguageModelV4).doStream(call)).stream
  const { reasoning: _, prompt, ...rest } = call
  return (await (model as LanguageModelV3).doStream({ ...rest, prompt: toV3Prompt(prompt) })).stream
}

function deltaOf(part: StreamPart): Extract<ModelEvent, { readonly text: string }> | undefined {
  if (part.type !== 'text-delta' && part.type !== 'reasoning-delta') return undefined
  if (typeof part.delta !== 'string' || part.delta === '') return undefined
  return { type: part.type === 'text-delta' ? 'text.delta' : 'reasoning.delta', text: part.delta }
}

/** Adds the token counts that the provider reported to an error event. Providers also charge for a call that fails before its end. */
function withUsage(
  event: ModelErrorEvent,
  reported: SdkUsage | undefined,
  { longWritesPath }: StreamOptions,
  hasOutput: boolean,
): ModelErrorEvent {
  const usage = reported && parseUsage(reported, longWritesPath, hasOutput)
  return usage ? { ...event, usage } : event
}

const USAGE_WAIT_MS = 1_000
const USAGE_WAIT_PARTS = 16

/**
 * The token counts that a stream sends after its error part. Some packages still send a finish part, and this function waits briefly for
 * it. Undefined when no finish part arrives.
 */
async function usageAfterError(reader: ReadableStreamDefaultReader<StreamPart>, options: WaitOptions): Promise<SdkUsage | undefined> {
  const briefly = { ...options, idleMs: Math.min(options.idleMs, USAGE_WAIT_MS) }
  try {
    for (let parts = 0; parts < USAGE_WAIT_PARTS; parts++) {
      const step = await withIdleTimeout(reader.read(), briefly)
      if (typeof step === 'string' || step.value.done) return undefined
      if (step.value.value.type === 'finish') return step.value.value.usage
    }
  } catch {
    // The stream broke after its error part. The caller reports the error of that part.
  }
  return undefined
}

/** The id of a response, and the model that wrote it, as the provider reports them. */
interface ResponseMetadata {
  id?: string | undefined
  modelId?: string | undefined
}

/** The event for a complete response. Undefined when the finish part reports a failure. */
function finishEvent(
  part: Extract<StreamPart, { type: 'finish' }>,
  metadata: ResponseMetadata,
  options: StreamOptions,
  hasOutput: boolean,
): ModelEvent | undefined {
  const finishReason = finishReasonOf(part, options)
  if (finishReason === undefined || (finishReason === 'content_filter' && !hasOutput)) return undefined
  const usage = parseUsage(part.usage, options.longWritesPath, hasOutput)
  return {
    type: 'finish',
    finishReason,
    modelName: modelNameOf(options, metadata.modelId),
    ...(usage && { usage }),
    ...(metadata.id !== undefined && { providerMessageId: metadata.id }),
  }
}

function finishReasonOf({ finishReason }: Pick<FinishPart, 'finishReason'>, { offersTools }: StreamOptions): FinishReason | undefined {
  if (!isObject(finishReason)) return 'other'
  const { unified, raw } = finishReason
  switch (unified) {
    case 'stop':
    case 'length':
      return unified
    case 'content-filter':
      return 'content_filter'
    case 'tool-calls':
      return offersTools ? 'stop' : 'other' // without tools, a call of a tool is unexpected
    case 'other':
      return raw === undefined ? undefined : 'other' // without a raw reason the stream broke off
    case 'interrupted':
      return undefined
    case 'error':
      return offersTools && isMalformedCall({ finishReason }) ? 'other' : undefined
    default:
      unified satisfies never
      return 'other' // packages of other authors may send other values. The response is complete in any case
  }
}

function classifyFinish({ finishReason: { unified } }: Pick<FinishPart, 'finishReason'>): Classification {
  if (unified === 'content-filter') return contentFiltered
  return unified === 'error' ? providerFailed : connectionLost
}

/** The name of the model that answered. If the requested model or a dated version of it answered, this is the requested name. */
function modelNameOf({ name, provider, modelId, secrets }: StreamOptions, answeringModel: string | undefined): string {
  const other = safeName(answeringModel, secrets)
  return other === undefined || other.startsWith(modelId) ? name : `${provider}/${other}`
}
