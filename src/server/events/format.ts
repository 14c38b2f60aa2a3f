import type { TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'

/**
 * A format in which events are sent to a client. Each stream has a format object of its own, because some formats depend on earlier events.
 */
export interface Format {
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  openingFrames(start: StreamStart): readonly Frame[]
  framesOf(event: TurnEvent): readonly Frame[]
  /** Whether the stream ends after this event. Only formats in which a stream is one turn have this function. */
  endsAfter?(event: TurnEvent): boolean
  /** The frames to send before the server ends the stream. */
  closingFrames(reason: EndReason): readonly Frame[]
}

/**
 * Why the server ends a stream:
 *
 * - `resync`: the client was too slow, or reading the events failed. The client must connect again
 * - `shutdown`: the server shuts down
 * - `over`: there are no more events
 */
export type EndReason = 'resync' | 'shutdown' | 'over'

export interface StreamStart {
  readonly conversationId: string
  readonly lastSeq: number
  readonly ts: string
}

/** One message of an event stream. (The frames of a store are something else.) */
export interface Frame {
  /** The `seq` of an entry, after which a client may resume. Only the last frame of an entry has it. */
  readonly id?: number
  readonly event?: string
  /** A string is written unchanged, and any other value as JSON. */
  readonly data: unknown
}

const encoder = new TextEncoder()

/** Characters at which some clients end a line, besides the usual line ends. */
const lineSeparators = /[\u2028\u2029\u0085]/g
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

export function frameText({ id, event, data }: Frame): string {
  const json = typeof data === 'string' ? data : JSON.stringify(data).replace(lineSeparators, escapeCharacter)
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${json}\n\n`
}

const encoded = new WeakMap<Frame, Uint8Array>()

/** The bytes of a frame. They are cached, because all followers of a conversation that use the native format get the same frame object. */
export function frameBytes(frame: Frame): Uint8Array {
  let bytes = encoded.get(frame)
  if (bytes === undefined) {
    bytes = encoder.encode(frameText(frame))
    encoded.set(frame, bytes)
  }
  return bytes
}

export const keepAlive = encoder.encode(': keepalive\n\n')

/** Additional data for formats with citations and files. */
export interface FormatContext {
  readonly conversationId: string
  /** The pool of sources when the stream begins. */
  readonly sources: Iterable<SourceRow>
  /** The address from which a client can download a file. */
  readonly resourceUrl: (rn: string) => string
}
