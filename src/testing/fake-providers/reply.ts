/** What a fake provider says to one request, in any provider's format. */
export interface FakeReply {
  readonly text?: string
  /** Characters in each piece; the whole text in one when not said. */
  readonly chunks?: number
  /** What the model thinks before it answers. */
  readonly reasoning?: string
  readonly finish?: 'stop' | 'length' | 'content_filter'
  /** Instead of what its cache reckons. */
  readonly usage?: Partial<FakeUsage>
  /** Refuses instead of answering. */
  readonly error?: FakeErrorKind
  /** Sent with an error, as the provider sends it. */
  readonly retryAfterMs?: number
  /** After the text, instead of an ending. */
  readonly fault?: FakeFault
  /** Before each piece. */
  readonly delayMs?: number
}

/**
 * `reset`: the connection is torn down. `cut`: the response ends as if all were said. `malformed`: something that is not the
 * format. `stall`: nothing more, for ever.
 */
export type FakeFault = 'reset' | 'cut' | 'malformed' | 'stall'

export type FakeErrorKind = 'authentication' | 'content_filter' | 'overflow' | 'overloaded' | 'rate_limited' | 'server_error'

/** In buckets that do not overlap; each provider writes them down in its own way. */
export interface FakeUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that lives for an hour. */
  readonly cacheWriteLong: number
  readonly output: number
  readonly reasoning: number
}

export interface FakeRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: unknown
  /** The bytes of the body. */
  readonly raw: string
}
