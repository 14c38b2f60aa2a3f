import type { Part } from '../../core/render/types.ts'

/** A reply of a fake provider. It is the same for all providers. */
export interface FakeReply {
  readonly text?: string
  /** The number of characters in each piece of the stream. By default the text is sent in one piece. */
  readonly chunks?: number
  /** Reasoning that is sent before the text. */
  readonly reasoning?: string
  readonly finish?: 'stop' | 'length' | 'content_filter'
  /** Overrides token counts that the simulated cache gives. */
  readonly usage?: Partial<FakeUsage>
  /** Responds with this error instead of a stream. */
  readonly error?: FakeErrorKind
  /** Only with `error`: how long the client is told to wait before it tries again. */
  readonly retryAfterMs?: number
  /** What goes wrong after the text. Without a fault the response ends regularly. */
  readonly fault?: FakeFault
  /** Milliseconds to wait before each piece. */
  readonly delayMs?: number
}

/**
 * `reset`: the connection is reset. `cut`: the response ends without its closing events. `malformed`: the last event is not valid JSON.
 * `stall`: the connection stays open, and nothing more is sent.
 */
export type FakeFault = 'reset' | 'cut' | 'malformed' | 'stall'

/** The errors that a fake provider can return. */
export type FakeErrorKind = 'authentication' | 'content_filter' | 'overflow' | 'overloaded' | 'rate_limited' | 'server_error'

/** Token counts of a call. `uncached`, `cacheRead` and `cacheWrite` do not overlap. Each provider reports them in its own way. */
export interface FakeUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that lives for an hour. */
  readonly cacheWriteLong: number
  readonly output: number
  readonly reasoning: number
}

/** A request that the fake provider received. */
export interface FakeRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: unknown
  /** The body as text. */
  readonly raw: string
}

/** The HTTP format of one provider: how to parse its requests and how to write its responses. */
export interface ProviderFormat {
  /** The environment variables that direct a model to the fake provider. */
  environment(address: string, key: string): Readonly<Record<string, string>>
  /** The API key in the headers of a request. */
  keyOf(headers: FakeRequest['headers']): string
  /** Parses a request. Returns undefined when this provider does not have such requests. */
  parse(path: string, body: unknown): ParsedRequest | undefined
  /** The events of the response stream. */
  frames(reply: FakeReply, pieces: readonly string[], request: ParsedRequest, usage: FakeUsage): Frames
  errorResponse(kind: FakeErrorKind, key: string, retryAfterMs: number | undefined): ErrorResponse
}

export interface ParsedRequest {
  readonly model: string
  readonly system: string
  readonly parts: readonly Part[]
  /** How the cache of the provider works for this request. */
  readonly cache: 'marks' | 'marks-without-look-back' | 'prefix'
  /** Whether the marks in the request ask for cache entries that live for an hour. */
  readonly long?: boolean
}

/** The events of a response stream: `opening` before the text, one of `pieces` for each piece of text, and `closing` after the text. */
export interface Frames {
  readonly opening: readonly string[]
  readonly pieces: readonly string[]
  readonly closing: readonly string[]
}

export interface ErrorResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

export const sseData = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const sseEvent = (value: { readonly type: string }): string => `event: ${value.type}\n${sseData(value)}`

export const retryAfter = (milliseconds: number | undefined): Readonly<Record<string, string>> =>
  milliseconds === undefined ? {} : { 'retry-after': String(Math.ceil(milliseconds / 1000)), 'retry-after-ms': String(milliseconds) }

/** The value of a header. It is empty when the header is missing or repeated. */
export const headerOf = (headers: FakeRequest['headers'], name: string): string => {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

export const bearerToken = (headers: FakeRequest['headers']): string => headerOf(headers, 'authorization').replace(/^Bearer /, '')

/** An image or document with inline bytes. The simulated cache compares such parts by their bytes. */
export const binaryPart = (type: 'image' | 'document', media_type: string, base64: string, marked: boolean): Part => ({
  type,
  media_type,
  base64,
  blob: { sha256: '', size: Math.floor((base64.length * 3) / 4) },
  ...(marked && { cache: true }),
})

export const textPart = (text: string, marked: boolean): Part => ({ type: 'text', text, ...(marked && { cache: true }) })
