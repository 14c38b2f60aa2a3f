import type { LanguageModelV3StreamPart, LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Failure } from '../../core/failure.ts'
import type { FinishReason, ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { SdkModel } from './ai-sdk.ts'
import { type Interruption, type StartTimer, type WaitOptions, withIdleTimeout } from './idle-timeout.ts'
import { toV3Prompt } from './prompt.ts'
import { safeName } from './redact.ts'
import { type CallInfo, type Classification, standardError, toServiceError } from './service-error.ts'
import { parseUsage } from './usage.ts'

export interface StreamOptions {
  readonly name: string
  readonly provider: string
  readonly modelId: string
  readonly secrets: readonly string[]
  readonly longWrites: readonly string[] | undefined
  readonly signal: AbortSignal
  readonly stallMs: number
  readonly alarm: StartTimer
}

type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart
type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

const connectionLost: Classification = { kind: 'connection', retryable: true }
const contentFiltered: Classification = { kind: 'content_filter', retryable: false }
const providerFailed: Classification = { kind: 'unknown', retryable: true }
const tooLong: Classification = { kind: 'malformed_response', retryable: false }
const interruptions: { readonly [I in Interruption]: Classification } = {
  aborted: { kind: 'aborted', retryable: false },
  stalled: { kind: 'timeout', retryable: true },
}

/** More than any token is long, on the average of an answer: who says more than that does not keep to the limit it was given. */
const charactersPerToken = 64

/** One call, as events. Whatever the provider does is among them; the line is down when this ends, however it ends. */
export async function* streamCall(model: SdkModel, call: LanguageModelV4CallOptions, speaking: StreamOptions): AsyncGenerator<ModelEvent> {
  const hangUp = new AbortController()
  const line = AbortSignal.any([speaking.signal, hangUp.signal])
  const waiting: WaitOptions = { signal: speaking.signal, stallMs: speaking.stallMs, alarm: speaking.alarm }
  const caller: CallInfo = { provider: speaking.provider, model: speaking.modelId, secrets: speaking.secrets, now: Date.now }
  const mostCharacters = charactersPerToken * (call.maxOutputTokens ?? Number.POSITIVE_INFINITY)
  let characters = 0
  let said = false
  const stage = (): ServiceError['stage'] => (said ? 'after_output' : 'before_output')
  const failing = (verdict: Classification): ModelErrorEvent => ({ type: 'error', error: standardError(verdict, stage(), caller) })
  let close = async () => {}
  try {
    const opened = await withIdleTimeout(openStream(model, { ...call, abortSignal: line }), waiting)
    if (typeof opened === 'string') return yield failing(interruptions[opened])
    const reader = opened.value.getReader()
    close = () => reader.cancel()
    const answered: ResponseMetadata = {}
    for (;;) {
      const step = await withIdleTimeout(reader.read(), waiting)
      if (typeof step === 'string') return yield failing(interruptions[step])
      if (step.value.done) return yield failing(connectionLost) // it never said that it had finished
      const part = step.value.value
      if (part.type === 'error') {
        const error = toServiceError(part.error, stage(), caller)
        return yield withUsage({ type: 'error', error }, await usageAfterError(reader, waiting), speaking, said)
      }
      if (part.type === 'response-metadata') Object.assign(answered, { id: part.id, modelId: part.modelId })
      if (part.type === 'finish')
        return yield finishEvent(part, answered, speaking, said) ?? withUsage(failing(classifyFinish(part)), part.usage, speaking, said)
      const delta = deltaOf(part)
      if (!delta) continue
      characters += delta.text.length
      if (characters > mostCharacters) return yield failing(tooLong)
      said ||= delta.type === 'text.delta'
      yield delta
    }
  } catch (error) {
    if (error instanceof Failure) throw error // ours, not the provider's
    yield speaking.signal.aborted ? failing(interruptions.aborted) : { type: 'error', error: toServiceError(error, stage(), caller) }
  } finally {
    hangUp.abort()
    await close().catch(() => {}) // a line that was cut can not be closed, and need not be
  }
}

type ModelErrorEvent = Extract<ModelEvent, { type: 'error' }>
type SdkUsage = FinishPart['usage']

/** Who fails in the middle may have counted what it read and said until then. */
function withUsage(event: ModelErrorEvent, bill: SdkUsage | undefined, { longWrites }: StreamOptions, said: boolean): ModelErrorEvent {
  const usage = bill && parseUsage(bill, longWrites, said)
  return usage ? { ...event, usage } : event
}

const USAGE_WAIT_MS = 1_000
const USAGE_WAIT_PARTS = 16

/** Adapters of the SDK send it behind the error, at once. Nobody waits for a provider that has failed: what does not come soon does not come. */
async function usageAfterError(reader: ReadableStreamDefaultReader<StreamPart>, waiting: WaitOptions): Promise<SdkUsage | undefined> {
  const briefly = { ...waiting, stallMs: Math.min(waiting.stallMs, USAGE_WAIT_MS) }
  try {
    for (let parts = 0; parts < USAGE_WAIT_PARTS; parts++) {
      const step = await withIdleTimeout(reader.read(), briefly)
      if (typeof step === 'string' || step.value.done) return undefined
      if (step.value.value.type === 'finish') return step.value.value.usage
    }
  } catch {
    // the line broke: the error that was told before is the one that counts
  }
  return undefined
}

interface ResponseMetadata {
  id?: string | undefined
  modelId?: string | undefined
}

async function openStream(model: SdkModel, call: LanguageModelV4CallOptions): Promise<ReadableStream<StreamPart>> {
  if (isV4(model)) return (await model.doStream(call)).stream
  const { reasoning: _, prompt, ...rest } = call
  return (await model.doStream({ ...rest, prompt: toV3Prompt(prompt) })).stream
}

const isV4 = (model: SdkModel): model is LanguageModelV4 => model.specificationVersion === 'v4'

function deltaOf(part: StreamPart): Extract<ModelEvent, { readonly text: string }> | undefined {
  if (part.type === 'text-delta' && part.delta !== '') return { type: 'text.delta', text: part.delta }
  if (part.type === 'reasoning-delta' && part.delta !== '') return { type: 'reasoning.delta', text: part.delta }
  return undefined
}

/** How the model came to its end; undefined when it did not, whatever the provider calls it. */
function finishEvent(
  part: Extract<StreamPart, { type: 'finish' }>,
  answered: ResponseMetadata,
  speaking: StreamOptions,
  said: boolean,
): ModelEvent | undefined {
  const finishReason = finishReasonOf(part)
  if (finishReason === undefined || (finishReason === 'content_filter' && !said)) return undefined
  const usage = parseUsage(part.usage, speaking.longWrites, said)
  return {
    type: 'finish',
    finishReason,
    modelName: modelNameOf(speaking, answered.modelId),
    ...(usage && { usage }),
    ...(answered.id !== undefined && { providerMessageId: answered.id }),
  }
}

function finishReasonOf({ finishReason: { unified, raw } }: Pick<FinishPart, 'finishReason'>): FinishReason | undefined {
  switch (unified) {
    case 'stop':
    case 'length':
      return unified
    case 'content-filter':
      return 'content_filter'
    case 'tool-calls':
      return 'other' // it was given none: a name for something we do not know
    case 'other':
      return raw === undefined ? undefined : 'other' // no reason at all: the stream only ended
    case 'interrupted':
    case 'error':
      return undefined
    default:
      return unified satisfies never
  }
}

function classifyFinish({ finishReason: { unified } }: Pick<FinishPart, 'finishReason'>): Classification {
  if (unified === 'content-filter') return contentFiltered
  return unified === 'error' ? providerFailed : connectionLost
}

/** A dated version answers for the model that was asked; another model is named, because another price holds. */
function modelNameOf({ name, provider, modelId, secrets }: StreamOptions, answered: string | undefined): string {
  const other = safeName(answered, secrets)
  return other === undefined || other.startsWith(modelId) ? name : `${provider}/${other}`
}
