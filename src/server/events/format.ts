import type { TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'

/** A way to tell events. One is made per follower: some formats must remember what they have said. */
export interface Format {
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  openingFrames(opening: StreamStart): readonly Frame[]
  framesOf(event: TurnEvent): readonly Frame[]
  /** The stream ends after this event. Formats that know only one turn say so; the others go on. */
  endsAfter?(event: TurnEvent): boolean
  /** Before the stream ends: too slow, or the server goes down. Nothing is said when the follower has left. */
  closingFrames(why: 'resync' | 'shutdown' | 'over'): readonly Frame[]
}

export interface StreamStart {
  readonly conversationId: string
  readonly lastSeq: number
  readonly ts: string
}

/** One frame of an event stream. */
export interface Frame {
  /** Where a client may resume: on entries only, and of several frames of one entry on the last. */
  readonly id?: number
  readonly event?: string
  /** JSON, or text as it is. */
  readonly data: unknown
}

const encoder = new TextEncoder()

/** Some readers of lines also stop at these. */
const lineSeparators = /[\u2028\u2029\u0085]/g
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

export function frameText({ id, event, data }: Frame): string {
  const json = typeof data === 'string' ? data : JSON.stringify(data).replace(lineSeparators, escapeCharacter)
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${json}\n\n`
}

const encoded = new WeakMap<Frame, Uint8Array>()

/** The bytes of a frame. A frame that goes to many is written once. */
export function frameBytes(frame: Frame): Uint8Array {
  let bytes = encoded.get(frame)
  if (bytes === undefined) {
    bytes = encoder.encode(frameText(frame))
    encoded.set(frame, bytes)
  }
  return bytes
}

export const keepAlive = encoder.encode(': keepalive\n\n')

/** What a format that cites must know besides the events. */
export interface FormatContext {
  readonly conversationId: string
  /** The pool when the stream begins. */
  readonly sources: Iterable<SourceRow>
  /** Where a client gets a file. */
  readonly resourceUrl: (rn: string) => string
}
