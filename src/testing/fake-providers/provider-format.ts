import type { Part } from '../../core/render/types.ts'

/** The format of one provider: how it is asked, and how it answers. */
export interface ProviderFormat {
  /** What a program must set to speak to the fake instead of the provider. */
  environment(address: string, key: string): Readonly<Record<string, string>>
  /** The key that came with a request. */
  keyOf(headers: FakeRequest['headers']): string
  /** What was asked, as far as a cache cares; undefined when it is no request of this provider. */
  parse(path: string, body: unknown): ParsedRequest | undefined
  /** Pieces of a stream, in order: what comes before the text, the text, what ends it. */
  frames(reply: FakeReply, pieces: readonly string[], asked: ParsedRequest, usage: FakeUsage): Frames
  refusal(kind: FakeErrorKind, key: string, retryAfterMs: number | undefined): Refusal
}

export interface ParsedRequest {
  readonly model: string
  readonly system: string
  readonly parts: readonly Part[]
  /** How its cache works for this request. */
  readonly cache: 'marks' | 'marks-without-look-back' | 'prefix'
  readonly long?: boolean
}

export interface Frames {
  readonly opening: readonly string[]
  readonly pieces: readonly string[]
  readonly closing: readonly string[]
}

export interface Refusal {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

export const sseData = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const sseEvent = (value: { readonly type: string }): string => `event: ${value.type}\n${sseData(value)}`

export const retryAfter = (milliseconds: number | undefined): Readonly<Record<string, string>> =>
  milliseconds === undefined ? {} : { 'retry-after': String(Math.ceil(milliseconds / 1000)), 'retry-after-ms': String(milliseconds) }

/** A header that was sent once. */
export const headerOf = (headers: FakeRequest['headers'], name: string): string => {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

export const bearerToken = (headers: FakeRequest['headers']): string => headerOf(headers, 'authorization').replace(/^Bearer /, '')

/** Bytes on the wire as a part; the cache goes by what they are. */
export const binaryPart = (type: 'image' | 'document', media_type: string, base64: string, marked: boolean): Part => ({
  type,
  media_type,
  base64,
  blob: { sha256: '', size: Math.floor((base64.length * 3) / 4) },
  ...(marked && { cache: true }),
})

export const textPart = (words: string, marked: boolean): Part => ({ type: 'text', text: words, ...(marked && { cache: true }) })

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
