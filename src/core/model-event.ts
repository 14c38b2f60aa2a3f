import { isObject } from './json.ts'
import { redact } from './secrets.ts'

/**
 * An event of a model's response. The events are the same for every provider. A response has any number of deltas, then one `finish` or one
 * `error`. The `call.*` events arrive only if the request has tools. They are the model's calls of these tools.
 */
export type ModelEvent =
  | { readonly type: 'text.delta'; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly text: string }
  /** A call of a tool begins. `index` counts the calls of a response from 0. Ids that the provider gives to calls are not used. */
  | { readonly type: 'call.start'; readonly index: number; readonly name: string }
  /** A piece of the arguments of a call, as JSON text. */
  | { readonly type: 'call.delta'; readonly index: number; readonly text: string }
  /** The arguments of a call are complete. */
  | { readonly type: 'call.end'; readonly index: number }
  | {
      readonly type: 'finish'
      readonly finishReason: FinishReason
      /** The tokens that the provider billed. A call without `usage` was not free: its tokens have to be estimated. */
      readonly usage?: ModelUsage
      readonly modelName: string
      readonly providerMessageId?: string
    }
  | {
      readonly type: 'error'
      readonly error: ServiceError
      /** The tokens that were billed although the call failed, if the provider reports them. */
      readonly usage?: ModelUsage
    }

/** Why the model stopped. `length` means that the output limit cut the response off. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'error' | 'other'

/**
 * The numbers of tokens that a call used. The tokens of the prompt are divided into `uncached`, `cacheRead` and `cacheWrite`, because these
 * have different prices. `reasoning` is a part of `output`.
 */
export interface ModelUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that is cached for an hour. Some providers charge more for it. */
  readonly cacheWriteLong?: number
  readonly output: number
  readonly reasoning: number
}

/** An error of a model provider, as data. It is stored and sent to clients, so it contains no secrets and no stack trace. */
export interface ServiceError {
  readonly kind: ServiceErrorKind
  readonly service_name: string
  readonly provider: string
  readonly model_name: string
  readonly error_type: string
  readonly message: string
  /**
   * Whether the error occurred before or after the first output. A call that failed after the first output is not repeated automatically.
   */
  readonly stage: 'before_output' | 'after_output'
  readonly http_status?: number
  readonly code?: string
  readonly retryable: boolean
  /** How long to wait before the next call, if the provider said it. */
  readonly retry_after_seconds?: number
  readonly context?: Readonly<Record<string, string | number | boolean>>
}

/**
 * The form in which the model writes its decisions. `channels`: it writes the channels of Daybook as text. `native`: it calls tools in the
 * provider's own form, and its text is the answer.
 */
export type Dialect = 'channels' | 'native'

const serviceErrorKinds = [
  'aborted',
  'authentication',
  'connection',
  'content_filter',
  'context_overflow',
  'invalid_request',
  'malformed_response',
  'overloaded',
  'rate_limited',
  'timeout',
  'unknown',
] as const

/** The kinds of errors of a model provider. */
export type ServiceErrorKind = (typeof serviceErrorKinds)[number]

const finishReasons: readonly FinishReason[] = ['stop', 'length', 'content_filter', 'error', 'other']

/**
 * Checks an event of a model adapter. Applications can write their own adapters, so the event may be invalid. An invalid field is left out
 * or replaced, so that the response is not lost. Undefined for a value that is not an event of a known type.
 */
export function parseModelEvent(value: unknown, modelName: string): ModelEvent | undefined {
  if (!isObject(value)) return undefined
  switch (value.type) {
    case 'text.delta':
    case 'reasoning.delta':
      // The cast is safe because `type` and `text` are checked.
      return typeof value.text === 'string' ? (value as ModelEvent) : undefined
    case 'call.start':
      return isCallIndex(value.index) && typeof value.name === 'string' ? (value as ModelEvent) : undefined
    case 'call.delta':
      return isCallIndex(value.index) && typeof value.text === 'string' ? (value as ModelEvent) : undefined
    case 'call.end':
      return isCallIndex(value.index) ? (value as ModelEvent) : undefined
    case 'finish': {
      const usage = parseModelUsage(value.usage)
      const finish: Mutable<Extract<ModelEvent, { type: 'finish' }>> = {
        type: 'finish',
        finishReason: finishReasons.find((known) => known === value.finishReason) ?? 'other',
        modelName: typeof value.modelName === 'string' ? value.modelName : modelName,
      }
      if (usage) finish.usage = usage
      if (typeof value.providerMessageId === 'string') finish.providerMessageId = value.providerMessageId
      return finish
    }
    case 'error': {
      const usage = parseModelUsage(value.usage)
      return { type: 'error', error: parseServiceError(value.error, modelName), ...(usage && { usage }) }
    }
    default:
      return undefined
  }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** The greatest number of tokens that a call can plausibly have. A greater number is an error of the provider or of its adapter. */
export const MAX_CALL_TOKENS = 1_000_000_000

/**
 * Checks the token counts that an adapter reported. Undefined when a count is missing or impossible. In this case the caller estimates the
 * tokens.
 */
export function parseModelUsage(value: unknown): ModelUsage | undefined {
  if (!isObject(value)) return undefined
  const { uncached, cacheRead, cacheWrite, cacheWriteLong, output, reasoning = 0 } = value
  if (!isCount(uncached) || !isCount(cacheRead) || !isCount(cacheWrite) || !isCount(output) || !isCount(reasoning)) return undefined
  if (cacheWriteLong === undefined) return { uncached, cacheRead, cacheWrite, output, reasoning }
  if (!isCount(cacheWriteLong) || cacheWriteLong > cacheWrite) return undefined
  return { uncached, cacheRead, cacheWrite, cacheWriteLong, output, reasoning }
}

const isCallIndex = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_CALL_TOKENS

const NO_REASON = 'The provider failed and did not say why.'

function parseServiceError(value: unknown, modelName: string): ServiceError {
  const error = isObject(value) ? value : {}
  const kind = serviceErrorKinds.find((known) => known === error.kind)
  const message = textIn(error.message) ?? NO_REASON
  const code = textIn(error.code)
  const seconds = error.retry_after_seconds
  return {
    kind: kind ?? 'unknown',
    service_name: textIn(error.service_name) ?? 'model',
    provider: textIn(error.provider) ?? 'unknown',
    model_name: textIn(error.model_name) ?? modelName,
    error_type: textIn(error.error_type) ?? 'unknown',
    // An error without a known kind may come from any library, and its message may contain an API key.
    message: kind === undefined ? redact(message) : message,
    stage: error.stage === 'after_output' ? 'after_output' : 'before_output',
    ...(Number.isInteger(error.http_status) && { http_status: error.http_status as number }),
    ...(code !== undefined && { code }),
    retryable: error.retryable === true,
    ...(typeof seconds === 'number' && seconds >= 0 && seconds < Number.POSITIVE_INFINITY && { retry_after_seconds: seconds }),
    ...(isObject(error.context) && { context: plainFields(error.context) }),
  }
}

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const plainFields = (fields: object): NonNullable<ServiceError['context']> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)),
  )
