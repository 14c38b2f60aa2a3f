import type { TurnEvent } from '../../core/event.ts'
import { type BacklogLimits, createBacklog, defaultBacklog } from './backlog.ts'
import { type EndReason, type Format, type Frame, frameBytes, keepAlive, type StreamStart } from './format.ts'

export interface SseOptions {
  readonly start: StreamStart
  readonly format: Format
  readonly keepAliveMs?: number
  readonly backlog?: BacklogLimits
  /**
   * The time limit of a slow client, in milliseconds. When the backlog is full, the client has this time to read until the backlog is half
   * empty. Otherwise the client is told to reconnect.
   */
  readonly slowMs?: number
  /** Aborted when the server shuts down. The stream then sends its closing frames and ends. */
  readonly shutdown?: AbortSignal
  /** Aborted when the token of the client expires. The client is told to reconnect, and needs a valid token to do so. */
  readonly expired?: AbortSignal
  /** Called when reading the events has failed. The client is told to reconnect, but does not get the error. */
  readonly onError?: (error: unknown) => void
  /** Called once, when the stream has ended for any reason. */
  readonly onEnd: () => void
}

/** About how many bytes one write has. Events are taken from the backlog until their frames have this size. */
const writeBufferBytes = 64 * 1024

/**
 * Pieces of at least this size are not copied, because several streams can send the same buffer. Smaller pieces are joined to one buffer,
 * so that there are fewer writes.
 */
const largePieceBytes = 16 * 1024

const nextTick = () => new Promise<void>((resolve) => void setImmediate(resolve))

/**
 * A response with server-sent events. It lasts until the events end, the client disconnects, its token expires or the server shuts
 * down.
 *
 *   events ─▶ backlog ─▶ frames ─▶ about 64 KB per pull ─▶ client
 *
 * The stream writes more only when the client has read the bytes that were written before. Until then, events wait in the backlog. When the
 * backlog is full, the stream reads no more events until the backlog is half empty. The event that filled the backlog sets the time limit:
 *
 * - If it is an entry that was stored before the stream began, there is no limit. The entries after it can be read from the store later.
 * - If it is a new event, the limit is `slowMs`. After this time the backlog is dropped and the client is told to reconnect.
 */
export function sseResponse(events: AsyncIterable<TurnEvent>, options: SseOptions): Response {
  const { format, start, keepAliveMs = 3_000, shutdown, expired, slowMs = 10_000 } = options
  const backlog = createBacklog(options.backlog ?? defaultBacklog)
  let endReason: EndReason | undefined // once this is set, no more events are read, but the events in the backlog are still sent
  let closed = false // once this is true, nothing more is sent
  let onEvent: (() => void) | undefined
  let onRoom: (() => void) | undefined // called when the backlog is at most half full again, and when the stream ends

  const wake = () => {
    onEvent?.()
    onEvent = undefined
  }
  const end = (reason: EndReason) => {
    endReason ??= reason
    wake()
    onRoom?.()
  }
  const onShutdown = () => end('shutdown')
  const onExpired = () => end('resync')
  const close = () => {
    if (closed) return
    closed = true
    shutdown?.removeEventListener('abort', onShutdown)
    expired?.removeEventListener('abort', onExpired)
    options.onEnd()
    wake()
    onRoom?.()
  }

  async function readEvents(): Promise<void> {
    try {
      for await (const event of events) {
        if (closed || endReason) return
        const fits = backlog.push(event)
        wake()
        if (!fits && !(await room(isReplayed(event) ? undefined : slowMs))) {
          backlog.clear()
          return end('resync')
        }
        if (format.endsAfter?.(event)) return end('over')
      }
      end('over')
    } catch (error) {
      options.onError?.(error)
      end('resync')
    }
  }

  /**
   * Whether an event is an entry that was stored before the stream began. If the client is slow, such entries can be read from the store
   * later, so there is no time limit for the client.
   */
  const isReplayed = (event: TurnEvent) => event.type === 'entry' && event.seq <= start.lastSeq
  /**
   * Waits until the backlog is at most half full or the stream ends, and returns true. Returns false if this takes longer than `withinMs`.
   */
  const room = (withinMs: number | undefined) =>
    new Promise<boolean>((resolve) => {
      const timer = withinMs === undefined ? undefined : setTimeout(() => resolve(false), withinMs)
      onRoom = () => {
        clearTimeout(timer)
        onRoom = undefined
        resolve(true)
      }
    })

  /** Takes events from the backlog until their frames have about 64 KB or the backlog is empty. Returns the bytes of the frames. */
  function takeBytes(): readonly Uint8Array[] {
    const pieces: Uint8Array[] = []
    let small: Buffer[] = []
    let size = 0
    const flush = () => {
      const [first] = small
      if (first) pieces.push(small.length === 1 ? first : Buffer.concat(small))
      small = []
    }
    for (let event = backlog.shift(); event !== undefined; event = size < writeBufferBytes ? backlog.shift() : undefined) {
      for (const bytes of format.framesOf(event).flatMap(frameBytes)) {
        size += bytes.length
        if (bytes.length < largePieceBytes) small.push(bytes)
        else {
          flush()
          pieces.push(shareBytes(event, bytes))
        }
      }
    }
    flush()
    if (backlog.hasRoom()) onRoom?.()
    return pieces
  }

  const eventOrKeepAlive = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, keepAliveMs)
      onEvent = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (shutdown?.aborted) end('shutdown')
        else shutdown?.addEventListener('abort', onShutdown, { once: true })
        expired?.addEventListener('abort', onExpired, { once: true })
        controller.enqueue(bytesOf(format.openingFrames(start)))
        void readEvents() // this promise never rejects
      },
      async pull(controller) {
        if (backlog.size === 0 && !endReason) await eventOrKeepAlive()
        await nextTick() // more events may arrive in this turn of the event loop. They are sent in the same write
        if (closed) return
        const pieces = takeBytes()
        for (const piece of pieces) controller.enqueue(piece)
        if (pieces.length === 0 && !endReason) controller.enqueue(keepAlive)
        if (!endReason || backlog.size > 0) return
        const closing = format.closingFrames(endReason)
        if (closing.length > 0) controller.enqueue(bytesOf(closing))
        controller.close()
        close()
      },
      cancel: close,
    },
    { highWaterMark: writeBufferBytes, size: (chunk) => chunk?.byteLength ?? 0 },
  )
  return new Response(body, {
    headers: {
      'content-type': format.contentType ?? 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      // without this header, the Node adapter would delay all headers until it knows whether the body consists of only one chunk
      'transfer-encoding': 'chunked',
      ...format.headers,
    },
  })
}

const bytesOf = (frames: readonly Frame[]): Uint8Array => Buffer.concat(frames.flatMap(frameBytes))

const largePieces = new WeakMap<TurnEvent, Buffer[]>()
const eventsOfPieces = new WeakMap<ArrayBufferLike, TurnEvent>()

/**
 * If another stream has already made the same bytes for this event, returns that buffer. Otherwise returns `bytes`. So a long text is in
 * memory once, even if many slow clients wait for it. `eventsOfPieces` keeps the event in memory as long as the bytes wait for a client, so
 * that the next stream finds the event and its bytes.
 */
function shareBytes(event: TurnEvent, bytes: Buffer): Buffer {
  const pieces = largePieces.get(event) ?? []
  const known = pieces.find((piece) => piece.equals(bytes))
  if (known) return known
  largePieces.set(event, [...pieces, bytes])
  eventsOfPieces.set(bytes.buffer, event)
  return bytes
}
