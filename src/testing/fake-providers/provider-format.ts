import type { Part } from '../../core/render/types.ts'

/** A reply of a fake provider, in a form that does not depend on the provider. */
export interface FakeReply {
  readonly text?: string
  /** Calls of tools in the provider's own form. They are sent after the text. */
  readonly calls?: readonly FakeCall[]
  /** The number of characters in each piece of the stream. Default: the text, and the arguments of each call, are sent in one piece. */
  readonly chunks?: number
  /** Reasoning that is sent before the text. */
  readonly reasoning?: string
  /**
   * Why the response ended. Default: the model has finished, or waits for the results of its calls. Set `stop` to simulate a server that
   * sends `stop` even if the response has calls.
   */
  readonly finish?: FakeFinish
  /** Token counts to report instead of the counts of the simulated cache. */
  readonly usage?: Partial<FakeUsage>
  /** The server sends this error in place of a stream. */
  readonly error?: FakeErrorKind
  /** Only with `error`: the time that the response tells the client to wait before a retry. */
  readonly retryAfterMs?: number
  /** What goes wrong after the text was sent. Without a fault, the response ends as usual. */
  readonly fault?: FakeFault
  /** Milliseconds to wait before each piece. */
  readonly delayMs?: number
}

/**
 * Why a response ended. Only Google sends `malformed_call`: the model wrote a call that can not be read. The other providers send `stop` in
 * this case.
 */
export type FakeFinish = 'stop' | 'length' | 'content_filter' | 'malformed_call'

/** A call of a tool in a reply. */
export interface FakeCall {
  readonly name: string
  /** The arguments. A string is sent as it is, so it may be invalid JSON. Google sends only objects. */
  readonly input: string | object
  /** The id of the call. With null the call has no id. Some servers send no id, or the same id twice. Default: `call_0`, `call_1`, … */
  readonly id?: string | null
  /** Only for chat completions: the index of the call. Some servers send 0 for every call. Default: 0, 1, … */
  readonly index?: number
}

/**
 * What goes wrong in a response:
 *
 * - `reset`: the connection is reset
 * - `cut`: the response ends without its last events
 * - `malformed`: the last event is not valid JSON
 * - `stall`: the connection stays open, but the server sends nothing more
 */
export type FakeFault = 'reset' | 'cut' | 'malformed' | 'stall'

/** The errors that a fake provider can return. */
export type FakeErrorKind = 'authentication' | 'content_filter' | 'no_tools' | 'overflow' | 'overloaded' | 'rate_limited' | 'server_error'

/**
 * Token counts of a call. Each input token is counted once, as `uncached`, `cacheRead` or `cacheWrite`. The file of each provider, such as
 * `openai.ts`, converts the counts to the fields of its API.
 */
export interface FakeUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The number of tokens in `cacheWrite` that are cached for an hour. */
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
  /** The environment variables that make a model send its requests to the fake provider. */
  environment(address: string, key: string): Readonly<Record<string, string>>
  /** The API key in the headers of a request. */
  keyOf(headers: FakeRequest['headers']): string
  /** Parses a request. Undefined when the API of this provider has no such request. */
  parse(path: string, body: unknown): ParsedRequest | undefined
  /** The events of the response as SSE text. */
  frames(reply: FakeReply, pieces: readonly string[], request: ParsedRequest, usage: FakeUsage): Frames
  errorResponse(kind: FakeErrorKind, key: string, retryAfterMs: number | undefined): ErrorResponse
}

export interface ParsedRequest {
  readonly model: string
  /** The tools and the system text. They come first in a prompt, so the cache treats them as one part. */
  readonly system: string
  readonly parts: readonly Part[]
  /**
   * How the provider caches the prompt of this request:
   *
   * - `marks`: at marks. A read also finds an entry that ends some parts before a mark
   * - `marks-without-look-back`: at marks. A read finds only an entry that ends at a mark
   * - `prefix`: automatically, without marks
   */
  readonly cache: 'marks' | 'marks-without-look-back' | 'prefix'
  /** Whether the marks in the request ask for a cache entry that lives for an hour. */
  readonly long?: boolean
}

/**
 * The events of a response as SSE text: `opening` before the text, one of `pieces` for each piece of text, and `closing` after the text.
 */
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

/** The arguments of a call as text, split into pieces. */
export const inputPieces = ({ input }: FakeCall, size?: number): readonly string[] =>
  splitText(typeof input === 'string' ? input : JSON.stringify(input), size)

/** Splits a text into pieces of `size` characters. By default there is one piece. An empty text has no pieces. */
export function splitText(text: string, size = text.length): readonly string[] {
  return text === ''
    ? []
    : Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size))
}

/** The tools of a request as text. Empty without tools. */
export const toolsText = (tools: unknown): string => (Array.isArray(tools) && tools.length > 0 ? JSON.stringify(tools) : '')

export const callId = ({ id }: FakeCall, index: number): string | null => (id === undefined ? `call_${index}` : id)

export const sseData = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const sseEvent = (value: { readonly type: string }): string => `event: ${value.type}\n${sseData(value)}`

export const retryAfter = (milliseconds: number | undefined): Readonly<Record<string, string>> =>
  milliseconds === undefined ? {} : { 'retry-after': String(Math.ceil(milliseconds / 1000)), 'retry-after-ms': String(milliseconds) }

/** The value of a header. Empty when the header is missing or occurs twice. */
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
