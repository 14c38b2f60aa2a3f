import type { Part } from '../../core/render/types.ts'
import type { FakeErrorKind, FakeReply, FakeRequest, FakeUsage } from './reply.ts'

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
