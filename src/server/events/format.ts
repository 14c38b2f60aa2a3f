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
  /** The `seq` of the entry that this frame belongs to. A client may resume after the frame. Frames of live events have no id. */
  readonly id?: number
  /** The number of the frame among the frames of its entry. Only the last of them has none: after it, the entry is complete. */
  readonly part?: number
  readonly event?: string
  /** A string is written unchanged, and any other value as JSON. */
  readonly data: unknown
  /** More fields of the JSON object `data`, which only this stream has. Then `data` may be one object for many streams. */
  readonly own?: object
}

/** A position in a stream: the entry `seq` and, if a client has only a part of its frames, the number of the last of these. */
export interface Cursor {
  readonly seq: number
  readonly part?: number
}

/** The ids of a stream: `26` after the entry 26, `26.2` after its second frame. Undefined for another text. */
export function parseCursor(id: string): Cursor | undefined {
  const [, seq, part] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(id) ?? []
  return seq === undefined ? undefined : { seq: Number(seq), ...(part !== undefined && { part: Number(part) }) }
}

/** Numbers the frames of an entry. Each is numbered by its place in the entry; the last one completes the entry. */
export const numberFrames = (frames: readonly Frame[], seq: number): readonly Frame[] =>
  frames.map((frame, index) => (index === frames.length - 1 ? { ...frame, id: seq } : { ...frame, id: seq, part: index + 1 }))

/** The format for a client that already has the frames of the entry `seq` up to `part`. They are not sent again. */
export const resumedFormat = (format: Format, { seq, part = 0 }: Cursor): Format => ({
  ...format,
  framesOf(event) {
    const frames = format.framesOf(event)
    if (event.type !== 'entry' || event.seq !== seq) return frames
    return frames.filter((frame) => frame.part === undefined || frame.part > part)
  },
})

/** Characters at which some clients end a line, besides the usual line ends. */
const lineSeparators = /[\u2028\u2029\u0085]/g
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const jsonText = (data: unknown) => (typeof data === 'string' ? data : JSON.stringify(data).replace(lineSeparators, escapeCharacter))

function headText({ id, part, event }: Frame): string {
  const position = part === undefined ? id : `${id}.${part}`
  return `${id === undefined ? '' : `id: ${position}\n`}${event === undefined ? '' : `event: ${event}\n`}data: `
}

export const frameText = (frame: Frame): string => Buffer.concat(frameBytes(frame)).toString()

const encoded = new WeakMap<object, Buffer>()

function encodeOnce(key: object, text: () => string): Buffer {
  let bytes = encoded.get(key)
  if (bytes === undefined) {
    bytes = Buffer.from(text())
    encoded.set(key, bytes)
  }
  return bytes
}

/** The bytes of a frame, in one or two pieces. A piece that many streams send is encoded once. */
export function frameBytes(frame: Frame): readonly Buffer[] {
  const { data, own } = frame
  if (own === undefined || typeof data !== 'object' || data === null) {
    return [encodeOnce(frame, () => `${headText(frame)}${jsonText(data)}\n\n`)]
  }
  // the fields of both objects are written as one object
  return [Buffer.from(`${headText(frame)}${jsonText(own).slice(0, -1)},`), encodeOnce(data, () => `${jsonText(data).slice(1)}\n\n`)]
}

export const keepAlive = Buffer.from(': keepalive\n\n')

/** Additional data for formats with citations and files. */
export interface FormatContext {
  readonly conversationId: string
  /** The pool of sources when the stream begins. */
  readonly sources: Iterable<SourceRow>
  /** The address from which a client can download a file. */
  readonly resourceUrl: (rn: string) => string
}
