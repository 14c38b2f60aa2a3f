import type { Part } from '../../core/render/types.ts'

/** A reply of a fake provider, independent of the provider's format. */
export interface FakeReply {
  readonly text?: string
  /** Characters in each piece of the stream. Default: the whole text in one piece. */
  readonly chunks?: number
  /** Reasoning that is sent before the text. */
  readonly reasoning?: string
  readonly finish?: 'stop' | 'length' | 'content_filter'
  /** Replaces token counts of the simulated cache. */
  readonly usage?: Partial<FakeUsage>
  /** Responds with this error instead of a stream. */
  readonly error?: FakeErrorKind
  /** The delay before a retry that is sent with an error, in the provider's format. */
  readonly retryAfterMs?: number
  /** What goes wrong after the text, instead of a regular end. */
  readonly fault?: FakeFault
  /** Milliseconds to wait before each piece. */
  readonly delayMs?: number
}

/**
 * `reset`: the connection is reset. `cut`: the response ends without its closing events. `malformed`: an event that is not valid
 * JSON. `stall`: the connection stays open, and nothing more is sent.
 */
export type FakeFault = 'reset' | 'cut' | 'malformed' | 'stall'

/** The errors that a fake provider can return. */
export type FakeErrorKind = 'authentication' | 'content_filter' | 'overflow' | 'overloaded' | 'rate_limited' | 'server_error'

/** Token counts in buckets that do not overlap. Each format reports them in its provider's way. */
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
  /** The environment variables that direct a model to the fake. */
  environment(address: string, key: string): Readonly<Record<string, string>>
  /** The API key in the headers of a request. */
  keyOf(headers: FakeRequest['headers']): string
  /** The parts of a request that matter to the cache; undefined when it is not a request of this provider. */
  parse(path: string, body: unknown): ParsedRequest | undefined
  /** The events of the response stream. */
  frames(reply: FakeReply, pieces: readonly string[], request: ParsedRequest, usage: FakeUsage): Frames
  errorResponse(kind: FakeErrorKind, key: string, retryAfterMs: number | undefined): ErrorResponse
}

export interface ParsedRequest {
  readonly model: string
  readonly system: string
  readonly parts: readonly Part[]
  /** How its cache works for this request. */
  readonly cache: 'marks' | 'marks-without-look-back' | 'prefix'
  /** Whether its marks ask for a time to live of an hour. */
  readonly long?: boolean
}

/** Events of a stream in order: before the text, one per piece of text, after the text. */
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

/** The value of a header; empty when it is missing or repeated. */
export const headerOf = (headers: FakeRequest['headers'], name: string): string => {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

export const bearerToken = (headers: FakeRequest['headers']): string => headerOf(headers, 'authorization').replace(/^Bearer /, '')

/** A part with inline bytes, by which the cache compares it. */
export const binaryPart = (type: 'image' | 'document', media_type: string, base64: string, marked: boolean): Part => ({
  type,
  media_type,
  base64,
  blob: { sha256: '', size: Math.floor((base64.length * 3) / 4) },
  ...(marked && { cache: true }),
})

export const textPart = (text: string, marked: boolean): Part => ({ type: 'text', text, ...(marked && { cache: true }) })
