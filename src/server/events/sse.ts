import type { TurnEvent } from '../../core/event.ts'
import { createBacklog, defaultMaxBacklog } from './backlog.ts'
import { type EndReason, type Format, type Frame, frameBytes, keepAlive, type StreamStart } from './format.ts'

export interface SseOptions {
  readonly start: StreamStart
  readonly format: Format
  readonly keepAliveMs?: number
  readonly maxBacklog?: number
  /** Aborted when the server shuts down. The stream then sends its closing frames and ends. */
  readonly shutdown?: AbortSignal
  /** Called when reading the events has failed. The client is told to reconnect, but does not get the error. */
  readonly onError?: (error: unknown) => void
  /** Called once, when the stream has ended for any reason. */
  readonly onEnd: () => void
}

const writeBufferBytes = 64 * 1024

/**
 * The time after a write in which the next write waits for one turn of the event loop. So events that come in quick succession are sent
 * together.
 */
const burstMs = 2

const nextTick = () => new Promise<void>((resolve) => void setImmediate(resolve))

/**
 * A response with server-sent events. It lasts until the events end, the client disconnects or the server shuts down.
 *
 *   events ─▶ backlog ─▶ frames ─▶ one chunk of bytes per pull ─▶ client
 *
 * The next chunk is written only after the client has read the chunk before. Meanwhile events wait in the backlog. If too many wait, the
 * client is told to reconnect.
 */
export function sseResponse(events: AsyncIterable<TurnEvent>, options: SseOptions): Response {
  const { format, start, keepAliveMs = 3_000, shutdown, maxBacklog = defaultMaxBacklog } = options
  const backlog = createBacklog(maxBacklog)
  let endReason: EndReason | undefined // once it is set, no more events are read, but the waiting ones are still sent
  let closed = false // once it is true, nothing more is sent
  let lastWriteAt = 0
  let onEvent: (() => void) | undefined
  let onDrained: (() => void) | undefined

  const wake = () => {
    onEvent?.()
    onEvent = undefined
  }
  const end = (reason: EndReason) => {
    endReason ??= reason
    wake()
    onDrained?.()
  }
  const onShutdown = () => end('shutdown')
  const close = () => {
    if (closed) return
    closed = true
    shutdown?.removeEventListener('abort', onShutdown)
    options.onEnd()
    wake()
    onDrained?.()
  }

  async function readEvents(): Promise<void> {
    try {
      for await (const event of events) {
        if (closed || endReason) return
        if (!backlog.push(event)) return end('resync')
        wake()
        while (isReplayed(event) && backlog.size >= maxBacklog / 2 && !closed && !endReason) await drained()
        if (format.endsAfter?.(event)) return end('over')
      }
      end('over')
    } catch (error) {
      options.onError?.(error)
      end('resync')
    }
  }

  /**
   * Whether an entry was stored before the stream began. Such entries can wait in the store, so they are read only as fast as the
   * client reads.
   */
  const isReplayed = (event: TurnEvent) => event.type === 'entry' && event.seq < start.lastSeq
  const drained = () =>
    new Promise<void>((resolve) => {
      onDrained = resolve
    })

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
        controller.enqueue(bytesOf(format.openingFrames(start)))
        void readEvents() // this promise never rejects
      },
      async pull(controller) {
        if (backlog.size === 0 && !endReason) await eventOrKeepAlive()
        if (performance.now() - lastWriteAt < burstMs) await nextTick() // more events may arrive in this turn of the event loop
        if (closed) return
        lastWriteAt = performance.now()
        const frames = backlog.drain().flatMap(format.framesOf)
        onDrained?.()
        if (frames.length > 0) controller.enqueue(bytesOf(frames))
        else if (!endReason) controller.enqueue(keepAlive)
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
      'transfer-encoding': 'chunked', // without this header, the Node adapter waits to see whether the body ends at once
      ...format.headers,
    },
  })
}

const bytesOf = (frames: readonly Frame[]): Uint8Array => Buffer.concat(frames.map(frameBytes))
