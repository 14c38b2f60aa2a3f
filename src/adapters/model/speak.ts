import type { LanguageModelV3StreamPart, LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Failure } from '../../core/failure.ts'
import type { FinishReason, ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { SdkModel } from './ai-sdk.ts'
import { olderPrompt } from './older-prompt.ts'
import { nameOnly } from './redact.ts'
import { type Caller, plainError, serviceError, type Verdict } from './service-error.ts'
import { type Alarm, type Interruption, patiently, type Waiting } from './stall.ts'
import { usageFrom } from './usage.ts'

export interface Speaking {
  readonly name: string
  readonly provider: string
  readonly modelId: string
  readonly secrets: readonly string[]
  readonly longWrites: readonly string[] | undefined
  readonly signal: AbortSignal
  readonly stallMs: number
  readonly alarm: Alarm
}

type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart
type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

const broken: Verdict = { kind: 'connection', retryable: true }
const filtered: Verdict = { kind: 'content_filter', retryable: false }
const failed: Verdict = { kind: 'unknown', retryable: true }
const endless: Verdict = { kind: 'malformed_response', retryable: false }
const interruptions: { readonly [I in Interruption]: Verdict } = {
  aborted: { kind: 'aborted', retryable: false },
  stalled: { kind: 'timeout', retryable: true },
}

/** More than any token is long, on the average of an answer: who says more than that does not keep to the limit it was given. */
const charactersPerToken = 64

/** One call, as events. Whatever the provider does is among them; the line is down when this ends, however it ends. */
export async function* speak(model: SdkModel, call: LanguageModelV4CallOptions, speaking: Speaking): AsyncGenerator<ModelEvent> {
  const hangUp = new AbortController()
  const line = AbortSignal.any([speaking.signal, hangUp.signal])
  const waiting: Waiting = { signal: speaking.signal, stallMs: speaking.stallMs, alarm: speaking.alarm }
  const caller: Caller = { provider: speaking.provider, model: speaking.modelId, secrets: speaking.secrets, now: Date.now }
  const mostCharacters = charactersPerToken * (call.maxOutputTokens ?? Number.POSITIVE_INFINITY)
  let characters = 0
  let said = false
  const stage = (): ServiceError['stage'] => (said ? 'after_output' : 'before_output')
  const failing = (verdict: Verdict): Failing => ({ type: 'error', error: plainError(verdict, stage(), caller) })
  let close = async () => {}
  try {
    const opened = await patiently(open(model, { ...call, abortSignal: line }), waiting)
    if (typeof opened === 'string') return yield failing(interruptions[opened])
    const reader = opened.value.getReader()
    close = () => reader.cancel()
    const answered: Answered = {}
    for (;;) {
      const step = await patiently(reader.read(), waiting)
      if (typeof step === 'string') return yield failing(interruptions[step])
      if (step.value.done) return yield failing(broken) // it never said that it had finished
      const part = step.value.value
      if (part.type === 'error') {
        const error = serviceError(part.error, stage(), caller)
        return yield billing({ type: 'error', error }, await billAfter(reader, waiting), speaking, said)
      }
      if (part.type === 'response-metadata') Object.assign(answered, { id: part.id, modelId: part.modelId })
      if (part.type === 'finish')
        return yield ending(part, answered, speaking, said) ?? billing(failing(verdictOf(part)), part.usage, speaking, said)
      const delta = deltaOf(part)
      if (!delta) continue
      characters += delta.text.length
      if (characters > mostCharacters) return yield failing(endless)
      said ||= delta.type === 'text.delta'
      yield delta
    }
  } catch (error) {
    if (error instanceof Failure) throw error // ours, not the provider's
    yield speaking.signal.aborted ? failing(interruptions.aborted) : { type: 'error', error: serviceError(error, stage(), caller) }
  } finally {
    hangUp.abort()
    await close().catch(() => {}) // a line that was cut can not be closed, and need not be
  }
}

type Failing = Extract<ModelEvent, { type: 'error' }>
type Bill = FinishPart['usage']

/** Who fails in the middle may have counted what it read and said until then. */
function billing(event: Failing, bill: Bill | undefined, { longWrites }: Speaking, said: boolean): Failing {
  const usage = bill && usageFrom(bill, longWrites, said)
  return usage ? { ...event, usage } : event
}

const BILL_WAIT_MS = 1_000
const BILL_WAIT_PARTS = 16

/** Adapters of the SDK send it behind the error, at once. Nobody waits for a provider that has failed: what does not come soon does not come. */
async function billAfter(reader: ReadableStreamDefaultReader<StreamPart>, waiting: Waiting): Promise<Bill | undefined> {
  const briefly = { ...waiting, stallMs: Math.min(waiting.stallMs, BILL_WAIT_MS) }
  try {
    for (let parts = 0; parts < BILL_WAIT_PARTS; parts++) {
      const step = await patiently(reader.read(), briefly)
      if (typeof step === 'string' || step.value.done) return undefined
      if (step.value.value.type === 'finish') return step.value.value.usage
    }
  } catch {
    // the line broke: the error that was told before is the one that counts
  }
  return undefined
}

interface Answered {
  id?: string | undefined
  modelId?: string | undefined
}

async function open(model: SdkModel, call: LanguageModelV4CallOptions): Promise<ReadableStream<StreamPart>> {
  if (isCurrent(model)) return (await model.doStream(call)).stream
  const { reasoning: _, prompt, ...rest } = call
  return (await model.doStream({ ...rest, prompt: olderPrompt(prompt) })).stream
}

const isCurrent = (model: SdkModel): model is LanguageModelV4 => model.specificationVersion === 'v4'

function deltaOf(part: StreamPart): Extract<ModelEvent, { readonly text: string }> | undefined {
  if (part.type === 'text-delta' && part.delta !== '') return { type: 'text.delta', text: part.delta }
  if (part.type === 'reasoning-delta' && part.delta !== '') return { type: 'reasoning.delta', text: part.delta }
  return undefined
}

/** How the model came to its end; undefined when it did not, whatever the provider calls it. */
function ending(
  part: Extract<StreamPart, { type: 'finish' }>,
  answered: Answered,
  speaking: Speaking,
  said: boolean,
): ModelEvent | undefined {
  const finishReason = reasonOf(part)
  if (finishReason === undefined || (finishReason === 'content_filter' && !said)) return undefined
  const usage = usageFrom(part.usage, speaking.longWrites, said)
  return {
    type: 'finish',
    finishReason,
    modelName: answeredBy(speaking, answered.modelId),
    ...(usage && { usage }),
    ...(answered.id !== undefined && { providerMessageId: answered.id }),
  }
}

function reasonOf({ finishReason: { unified, raw } }: Pick<FinishPart, 'finishReason'>): FinishReason | undefined {
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

function verdictOf({ finishReason: { unified } }: Pick<FinishPart, 'finishReason'>): Verdict {
  if (unified === 'content-filter') return filtered
  return unified === 'error' ? failed : broken
}

/** A dated version answers for the model that was asked; another model is named, because another price holds. */
function answeredBy({ name, provider, modelId, secrets }: Speaking, answered: string | undefined): string {
  const other = nameOnly(answered, secrets)
  return other === undefined || other.startsWith(modelId) ? name : `${provider}/${other}`
}
