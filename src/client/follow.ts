import type { NativeFrame, TurnEvent } from '../core/event.ts'
import { type Request, RequestRefused } from './request.ts'
import { serverSentEvents } from './server-sent-events.ts'

/** Options of `Client.follow`. */
export interface FollowOptions {
  /** Only entries after this one; 0 is the beginning. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** Called when the connection is lost and when it is open again. */
  readonly onConnection?: (state: 'open' | 'lost') => void
  /** Reconnects when the connection is silent for this long. The server sends at least a comment every 3 seconds. */
  readonly silenceMs?: number
}

const minRetryMs = 250
const maxRetryMs = 10_000
const defaultSilenceMs = 30_000

/**
 * Yields the entries after `after`, then new events until the signal is aborted. Reconnects by itself: every entry comes exactly once,
 * and live text comes again from its beginning. Throws only when the server rejects the request for good.
 */
export async function* follow(
  request: Request,
  path: string,
  { after = 0, signal, onConnection = () => {}, silenceMs = defaultSilenceMs }: FollowOptions = {},
): AsyncGenerator<TurnEvent> {
  let last = after
  let failures = 0
  while (!signal?.aborted) {
    const idle = startIdleTimer(silenceMs, signal)
    try {
      const response = await request(path, {
        query: { as: 'native', after: last },
        headers: { accept: 'text/event-stream' },
        signal: idle.signal,
      })
      onConnection('open')
      for await (const { data } of serverSentEvents(chunksOf(response, idle))) {
        failures = 0
        const frame = JSON.parse(data) as NativeFrame // a Daybook server sends no other frames
        if (frame.type === 'resync' || frame.type === 'server_shutdown') break
        if (frame.type === 'ready' || (frame.type === 'entry' && frame.seq <= last)) continue
        if (frame.type === 'entry') last = frame.seq
        yield frame
      }
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof RequestRefused && !isTemporary(error.status)) throw error
    } finally {
      idle.stop()
    }
    if (signal?.aborted) return
    onConnection('lost')
    await waitBeforeRetry(failures++, signal)
  }
}

const isTemporary = (status: number) => status === 408 || status === 425 || status === 429 || status >= 500

async function* chunksOf({ body }: Response, idle: IdleTimer): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader = body.getReader()
  try {
    for (;;) {
      idle.start()
      const { done, value } = await reader.read()
      idle.pause() // the time that the consumer takes is not the server's silence
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {}) // the stream ends either way
  }
}

interface IdleTimer {
  /** Aborted after too long a silence, and when the caller's signal is aborted. */
  readonly signal: AbortSignal
  start(): void
  pause(): void
  stop(): void
}

/** A timer that runs at once. A pulled cable or a sleeping laptop closes no connection; only silence shows that the connection is lost. */
function startIdleTimer(silenceMs: number, outer: AbortSignal | undefined): IdleTimer {
  const silence = new AbortController()
  const leave = () => silence.abort(outer?.reason)
  outer?.addEventListener('abort', leave, { once: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  const rest = () => clearTimeout(timer)
  const listen = () => {
    rest()
    timer = setTimeout(() => silence.abort(new Error('the server was silent for too long')), silenceMs)
  }
  listen()
  return {
    signal: silence.signal,
    start: listen,
    pause: rest,
    stop() {
      rest()
      outer?.removeEventListener('abort', leave)
    },
  }
}

/** Waits exponentially longer after each failure, with jitter so that not all clients reconnect at once. */
function waitBeforeRetry(failures: number, signal: AbortSignal | undefined): Promise<void> {
  const delay = Math.min(maxRetryMs, minRetryMs * 2 ** failures)
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, delay * (0.5 + Math.random() / 2))
    signal?.addEventListener('abort', done, { once: true })
  })
}
