import type { NativeFrame, TurnEvent } from '../core/event.ts'
import { type Request, RequestRefused } from './request.ts'
import { serverSentEvents } from './server-sent-events.ts'

/** Options of `Client.follow`. */
export interface FollowOptions {
  /** Only entries with a `seq` above this number are yielded. The default is 0, so all entries are yielded. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** Called when the connection was opened or lost. */
  readonly onConnection?: (state: 'open' | 'lost') => void
  /**
   * The time in milliseconds without any data after which the client reconnects. By default a server sends at least a comment every 3
   * seconds.
   */
  readonly silenceMs?: number
}

const minRetryMs = 250
const maxRetryMs = 10_000
const defaultSilenceMs = 30_000

/**
 * Yields the entries after `after`, and then new events until the signal is aborted. Reconnects when the connection is lost. After a
 * reconnect, no entry is repeated or missing, but the text of a running round is sent again from its beginning. Throws only if the server
 * rejects the request and trying again would not help, for example with status 404.
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
        const frame = JSON.parse(data) as NativeFrame // not validated, because a Daybook server sends no other data
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
      idle.pause() // while the caller handles the event, the client reads nothing, so a pause does not mean that the server is silent
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {}) // a failure is ignored, because the stream has already ended
  }
}

interface IdleTimer {
  /** Aborted when the server has been silent for too long, or when the caller aborts its own signal. */
  readonly signal: AbortSignal
  start(): void
  pause(): void
  stop(): void
}

/**
 * Creates a timer that ends a connection on which no data arrives. After a network failure, or after the machine was asleep, a lost
 * connection may cause no error. In this case, only the missing data shows that the connection is lost.
 */
function startIdleTimer(silenceMs: number, outer: AbortSignal | undefined): IdleTimer {
  const silence = new AbortController()
  const leave = () => silence.abort(outer?.reason)
  outer?.addEventListener('abort', leave, { once: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  const rest = () => clearTimeout(timer)
  const listen = () => {
    rest()
    timer = setTimeout(() => silence.abort(new Error(`the server sent no data for ${silenceMs} ms`)), silenceMs)
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

/**
 * Waits before a retry. The time doubles with each failure, up to a limit. It is partly random, so that clients do not all reconnect
 * together.
 */
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
