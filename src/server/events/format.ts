import type { TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { pausesTurn } from '../../core/timeline/waits.ts'

/**
 * A format in which events are sent to a client. Each stream has a format object of its own, because some formats depend on earlier events.
 */
export interface Format {
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  openingFrames(start: StreamStart): readonly Frame[]
  framesOf(event: TurnEvent): readonly Frame[]
  /** Whether the stream ends after this event. Formats without this function send the events of all turns and do not end with a turn. */
  endsAfter?(event: TurnEvent): boolean
  /** The frames to send before the server ends the stream. */
  closingFrames(reason: EndReason): readonly Frame[]
}

/**
 * Why the server ends a stream:
 *
 * - `resync`: the client was too slow, its token has expired, or reading the events failed. The client must connect again
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
  /**
   * The `seq` of the entry from which this frame was made. A client that has this frame can reconnect and resume after it. Frames of text
   * deltas and of statuses have no id, because deltas and statuses are not stored.
   */
  readonly id?: number
  /**
   * An entry may have several frames. `part` is the number of this frame in its entry. The last frame of an entry has no `part`. A client
   * that has received the last frame has the complete entry.
   */
  readonly part?: number
  readonly event?: string
  /** After how many milliseconds the client should reconnect when the stream has ended. */
  readonly retry?: number
  /** A string is written unchanged, and any other value as JSON. */
  readonly data: unknown
  /**
   * Fields that are written into the same JSON object as the fields of `data`. They are only for this stream, so many streams can use one
   * object `data`.
   */
  readonly own?: object
}

/**
 * The last frame that a client has received. `seq` is the entry of the frame. `part` is the number of the frame in the entry. `part` is
 * missing if the client has all frames of the entry.
 */
export interface Cursor {
  readonly seq: number
  readonly part?: number
}

/**
 * Parses the id of a frame. The id `26` means that the client has all frames of the entry 26. The id `26.2` means that it has the frames up
 * to the one with `part` 2. Returns undefined if the text is not such an id.
 */
export function parseCursor(id: string): Cursor | undefined {
  const [, seq, part] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(id) ?? []
  return seq === undefined ? undefined : { seq: Number(seq), ...(part !== undefined && { part: Number(part) }) }
}

/** Gives each frame of an entry its id. The frames get `part` 1, 2 and so on, but the last frame gets no `part`. */
export const numberFrames = (frames: readonly Frame[], seq: number): readonly Frame[] =>
  frames.map((frame, index) => (index === frames.length - 1 ? { ...frame, id: seq } : { ...frame, id: seq, part: index + 1 }))

/**
 * Makes a format for a client that reconnects. It leaves out the frames of the entry `seq` up to `part`, because the client already has
 * them.
 */
export const resumedFormat = (format: Format, { seq, part = 0 }: Cursor): Format => ({
  ...format,
  framesOf(event) {
    const frames = format.framesOf(event)
    if (event.type !== 'entry' || event.seq !== seq) return frames
    return frames.filter((frame) => frame.part === undefined || frame.part > part)
  },
})

/**
 * Characters that some clients treat as the end of a line, although they are not line ends in the format of server-sent events. They are
 * escaped in JSON.
 */
const lineSeparators = /[\u2028\u2029\u0085]/g
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const jsonText = (data: unknown) => (typeof data === 'string' ? data : JSON.stringify(data).replace(lineSeparators, escapeCharacter))

function headText({ id, part, event, retry }: Frame): string {
  const position = part === undefined ? id : `${id}.${part}`
  return `${retry === undefined ? '' : `retry: ${retry}\n`}${id === undefined ? '' : `id: ${position}\n`}${event === undefined ? '' : `event: ${event}\n`}data: `
}

/**
 * How soon clients should reconnect when the server shuts down. The time is short, because another server is available, or this server will
 * soon be available again.
 */
export const shutdownRetryMs = 250

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

/**
 * The bytes of a frame. If the frame has `own`, there are two pieces: one with `own`, and one with `data`. The bytes of `data` are cached,
 * so that they are made only once for all streams.
 */
export function frameBytes(frame: Frame): readonly Buffer[] {
  const { data, own } = frame
  if (own === undefined || typeof data !== 'object' || data === null) {
    return [encodeOnce(frame, () => `${headText(frame)}${jsonText(data)}\n\n`)]
  }
  // Joins two JSON objects to one: the first piece is `own` without its `}`, the second piece is `data` without its `{`.
  return [Buffer.from(`${headText(frame)}${jsonText(own).slice(0, -1)},`), encodeOnce(data, () => `${jsonText(data).slice(1)}\n\n`)]
}

export const keepAlive = Buffer.from(': keepalive\n\n')

/** Data that the formats for AG-UI and the AI SDK need to show citations and files. */
export interface FormatContext {
  readonly conversationId: string
  /** The pool of sources when the stream begins. */
  readonly sources: Iterable<SourceRow>
  /** The address from which a client can download a file. */
  readonly resourceUrl: (rn: string) => string
}

/** Whether a stream with the events of one turn ends after this event: the turn has ended, or it waits and nothing more happens in it. */
export const endsTurnStream = (event: TurnEvent): boolean => event.type === 'entry' && pausesTurn(event.change)
