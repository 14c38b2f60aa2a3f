/** The events of a model's answer, the same for every provider. A stream is any number of deltas, then one `finish` or one `error`. */
export type ModelEvent =
  | { readonly type: 'text.delta'; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly text: string }
  | {
      readonly type: 'finish'
      readonly finishReason: FinishReason
      /** The billed tokens. When the provider did not report them, the cost is not zero: it has to be estimated. */
      readonly usage?: ModelUsage
      readonly modelName: string
      readonly providerMessageId?: string
    }
  | {
      readonly type: 'error'
      readonly error: ServiceError
      /** Tokens that were billed in spite of the error, if the provider reports them. */
      readonly usage?: ModelUsage
    }

/** Why the model stopped. `length`: the output limit cut the answer. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'error' | 'other'

/** Numbers of tokens by price. `uncached`, `cacheRead` and `cacheWrite` add up to the input; `reasoning` is part of `output`. */
export interface ModelUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that was cached for an hour, for providers that charge more for it. */
  readonly cacheWriteLong?: number
  readonly output: number
  readonly reasoning: number
}

/** A provider's failure as data. It is stored and sent to clients, so it holds no secrets and no stack trace. */
export interface ServiceError {
  readonly kind: ServiceErrorKind
  readonly service_name: string
  readonly provider: string
  readonly model_name: string
  readonly error_type: string
  readonly message: string
  /** Whether the error came before or after the first output. A call that failed after it is not retried automatically. */
  readonly stage: 'before_output' | 'after_output'
  readonly http_status?: number
  readonly code?: string
  readonly retryable: boolean
  /** How long to wait before the next call, as stated by the provider. */
  readonly retry_after_seconds?: number
  readonly context?: Readonly<Record<string, string | number | boolean>>
}

/** The kinds of errors of a model provider. */
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
