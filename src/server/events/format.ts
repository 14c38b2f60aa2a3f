import type { TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'

/** How events are written for a client. Created per stream, because some formats depend on what they have sent before. */
export interface Format {
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  openingFrames(start: StreamStart): readonly Frame[]
  framesOf(event: TurnEvent): readonly Frame[]
  /** Whether the stream ends after this event, for formats whose stream is one turn. */
  endsAfter?(event: TurnEvent): boolean
  /** Sent before the server ends the stream. A client that disconnects is sent nothing. */
  closingFrames(reason: EndReason): readonly Frame[]
}

/** `resync`: the client was too slow, or reading failed, and it must start over. `over`: the events have ended. */
export type EndReason = 'resync' | 'shutdown' | 'over'

export interface StreamStart {
  readonly conversationId: string
  readonly lastSeq: number
  readonly ts: string
}

/** One frame of an event stream. */
export interface Frame {
  /** Where a client may resume: set for entries only, and on the last frame of an entry. */
  readonly id?: number
  readonly event?: string
  /** Written as JSON; a string is written unchanged. */
  readonly data: unknown
}

const encoder = new TextEncoder()

/** Some clients end a line at these characters, too. */
const lineSeparators = /[\u2028\u2029\u0085]/g
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

export function frameText({ id, event, data }: Frame): string {
  const json = typeof data === 'string' ? data : JSON.stringify(data).replace(lineSeparators, escapeCharacter)
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${json}\n\n`
}

const encoded = new WeakMap<Frame, Uint8Array>()

/** The bytes of a frame. Cached, because the same frame goes to every follower of a conversation. */
export function frameBytes(frame: Frame): Uint8Array {
  let bytes = encoded.get(frame)
  if (bytes === undefined) {
    bytes = encoder.encode(frameText(frame))
    encoded.set(frame, bytes)
  }
  return bytes
}

export const keepAlive = encoder.encode(': keepalive\n\n')

/** What formats with citations and files need besides the events. */
export interface FormatContext {
  readonly conversationId: string
  /** The source pool when the stream begins. */
  readonly sources: Iterable<SourceRow>
  /** The address of a file. */
  readonly resourceUrl: (rn: string) => string
}
