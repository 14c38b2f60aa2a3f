import type { NativeFrame, TurnEvent } from '../core/event.ts'
import { type Request, RequestRefused } from './request.ts'
import { serverSentEvents } from './server-sent-events.ts'

/** Options of `Client.follow`. */
export interface FollowOptions {
  /** Yields only entries after this seq. 0, the default, means all entries. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** Called whenever the connection is opened or lost. */
  readonly onConnection?: (state: 'open' | 'lost') => void
  /** Reconnects when nothing was received for this time. By default a server sends at least a comment every 3 seconds. */
  readonly silenceMs?: number
}

const minRetryMs = 250
const maxRetryMs = 10_000
const defaultSilenceMs = 30_000

/**
 * Yields the entries after `after`, then new events until the signal is aborted. Reconnects when the connection is lost. After that no
 * entry is repeated or missing, but live text starts again from its beginning. Throws only when the server rejects the request for good.
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
        const frame = JSON.parse(data) as NativeFrame // not validated: a Daybook server sends no other frames
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
      idle.pause() // the time that the consumer takes must not count as silence of the server
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {}) // a failed cancel needs no handling: the stream ends anyway
  }
}

interface IdleTimer {
  /** Aborted when the server was silent for too long, or when the caller's signal is aborted. */
  readonly signal: AbortSignal
  start(): void
  pause(): void
  stop(): void
}

/** Starts a timer that aborts a silent connection. After a pulled cable or a sleep, only silence shows that the connection is lost. */
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

/** Waits twice as long after each failure, up to a limit. The time is partly random, so that not all clients reconnect at once. */
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
