import type { TurnEvent } from '../../core/event.ts'
import { createBacklog, defaultMaxBacklog } from './backlog.ts'
import type { Format, StreamStart } from './format.ts'
import { type Frame, frameBytes, keepAlive } from './format.ts'

export interface SseOptions {
  readonly opening: StreamStart
  readonly format: Format
  readonly keepAliveMs?: number
  readonly maxBacklog?: number
  /** Fires when the server goes down: the follower is told and let go. */
  readonly shutdown?: AbortSignal
  /** The events broke off. The client is not told why: it sees the end, and comes again. */
  readonly onError?: (error: unknown) => void
  /** To end what the events come from. Called once, however the stream ends. */
  readonly onEnd: () => void
}

const writeBufferBytes = 64 * 1024

/** What follows a write so closely belongs to the same burst. */
const burstMs = 2

const nextTick = () => new Promise<void>((resolve) => void setImmediate(resolve))

/**
 * A response that tells events for as long as the client listens:
 *
 *   events ─▶ backlog ─▶ frames ─▶ one piece of bytes per pull ─▶ client
 *
 * Nothing is written that the client has not asked for. While it is busy events wait and are joined; when too many wait, it is told to
 * start over.
 */
export function sseResponse(events: AsyncIterable<TurnEvent>, options: SseOptions): Response {
  const { format, opening, keepAliveMs = 3_000, shutdown } = options
  const backlog = createBacklog(options.maxBacklog)
  let ending: 'resync' | 'shutdown' | 'over' | undefined
  let wake: (() => void) | undefined
  let onTaken: (() => void) | undefined
  let sentAt = 0
  let over = false

  const rouse = () => {
    wake?.()
    wake = undefined
  }
  const end = (why: NonNullable<typeof ending>) => {
    ending ??= why
    rouse()
    onTaken?.()
  }
  const goDown = () => end('shutdown')
  const leave = () => {
    if (over) return
    over = true
    shutdown?.removeEventListener('abort', goDown)
    options.onEnd()
    rouse()
    onTaken?.()
  }

  async function listen(): Promise<void> {
    try {
      for await (const event of events) {
        if (over || ending) return
        if (!backlog.push(event)) return end('resync')
        rouse()
        while (isPast(event) && backlog.size >= room && !over && !ending) await taken()
        if (format.endsAfter?.(event)) return end('over')
      }
      end('over')
    } catch (error) {
      options.onError?.(error)
      end('resync')
    }
  }

  /** The past does not grow while a client takes its time: it is read as fast as the client reads. */
  const isPast = (event: TurnEvent) => event.type === 'entry' && event.seq < opening.lastSeq
  const room = (options.maxBacklog ?? defaultMaxBacklog) / 2
  const taken = () =>
    new Promise<void>((resolve) => {
      onTaken = resolve
    })

  /** Until there is something to say, or nothing was said for long. */
  const something = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, keepAliveMs)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (shutdown?.aborted) end('shutdown')
        else shutdown?.addEventListener('abort', goDown, { once: true })
        controller.enqueue(bytesOf(format.openingFrames(opening)))
        void listen() // throws nothing
      },
      async pull(controller) {
        if (backlog.size === 0 && !ending) await something()
        if (performance.now() - sentAt < burstMs) await nextTick() // the first word goes out at once, a burst in one write
        if (over) return
        sentAt = performance.now()
        const frames = backlog.drain().flatMap(format.framesOf)
        onTaken?.()
        if (frames.length > 0) controller.enqueue(bytesOf(frames))
        else if (!ending) controller.enqueue(keepAlive)
        if (!ending || backlog.size > 0) return
        const last = format.closingFrames(ending)
        if (last.length > 0) controller.enqueue(bytesOf(last))
        controller.close()
        leave()
      },
      cancel: leave,
    },
    { highWaterMark: writeBufferBytes, size: (piece) => piece?.byteLength ?? 0 },
  )
  return new Response(body, {
    headers: {
      'content-type': format.contentType ?? 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked', // or the adapter waits whether it ends at once
      ...format.headers,
    },
  })
}

function bytesOf(frames: readonly Frame[]): Uint8Array {
  if (frames.length === 1) return frameBytes(frames[0] as Frame) // counted
  return Buffer.concat(frames.map(frameBytes))
}
