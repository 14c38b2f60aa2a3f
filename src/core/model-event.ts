/** What a model says while it answers, whoever serves it. A stream is any number of deltas, then one `finish` or one `error`. */
export type ModelEvent =
  | { readonly type: 'text.delta'; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly text: string }
  | {
      readonly type: 'finish'
      readonly finishReason: FinishReason
      /** Missing when the provider did not say. That is not nothing: whoever reckons has to estimate. */
      readonly usage?: ModelUsage
      readonly modelName: string
      readonly providerMessageId?: string
    }
  | {
      readonly type: 'error'
      readonly error: ServiceError
      /** What it billed all the same, where it says so. */
      readonly usage?: ModelUsage
    }

/** `length`: the output limit cut the answer. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'error' | 'other'

/** Tokens by what they cost. The first three add up to the input; `reasoning` is part of `output`. */
export interface ModelUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that was written to live for an hour, where that costs more. */
  readonly cacheWriteLong?: number
  readonly output: number
  readonly reasoning: number
}

/** What went wrong with a provider, as data: it is stored and sent as it is, so it holds no secrets and no stack. */
export interface ServiceError {
  readonly kind: ServiceErrorKind
  readonly service_name: string
  readonly provider: string
  readonly model_name: string
  readonly error_type: string
  readonly message: string
  /** Before or after the first words: after them nothing is repeated blindly. */
  readonly stage: 'before_output' | 'after_output'
  readonly http_status?: number
  readonly code?: string
  readonly retryable: boolean
  /** The provider's own word on when it may be asked again. */
  readonly retry_after_seconds?: number
  readonly context?: Readonly<Record<string, string | number | boolean>>
}

export type ServiceErrorKind =
  | 'aborted'
  | 'authentication'
  | 'connection'
  | 'content_filter'
  | 'context_overflow'
  | 'invalid_request'
  | 'malformed_response'
  | 'overloaded'
  | 'rate_limited'
  | 'timeout'
  | 'unknown'
