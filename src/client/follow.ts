import type { NativeFrame, TurnEvent } from '../core/event.ts'
import { type Request, RequestRefused } from './request.ts'
import { serverSentEvents } from './server-sent-events.ts'

export interface FollowOptions {
  /** Entries after this one; from the beginning when not said. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** Told when the line breaks and when it is there again. */
  readonly onConnection?: (state: 'open' | 'lost') => void
  /** A line that is silent for so long is taken for dead and mended. The server says something every 3 seconds, if only that it is there. */
  readonly silenceMs?: number
}

const minRetryMs = 250
const maxRetryMs = 10_000
const defaultSilenceMs = 30_000

/**
 * Everything after an entry, then everything that happens, for as long as one likes: a broken line is mended, and nothing is told twice
 * or left out. What is live is told again from its beginning after a break. Throws only when the server refuses.
 */
export async function* follow(
  request: Request,
  path: string,
  { after = 0, signal, onConnection = () => {}, silenceMs = defaultSilenceMs }: FollowOptions = {},
): AsyncGenerator<TurnEvent> {
  let last = after
  let failures = 0
  while (!signal?.aborted) {
    const watch = startIdleTimer(silenceMs, signal)
    try {
      const response = await request(path, {
        query: { as: 'native', after: last },
        headers: { accept: 'text/event-stream' },
        signal: watch.signal,
      })
      onConnection('open')
      for await (const { data } of serverSentEvents(chunksOf(response, watch))) {
        failures = 0
        const frame = JSON.parse(data) as NativeFrame // our own server's words
        if (frame.type === 'resync' || frame.type === 'server_shutdown') break
        if (frame.type === 'ready' || (frame.type === 'entry' && frame.seq <= last)) continue
        if (frame.type === 'entry') last = frame.seq
        yield frame
      }
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof RequestRefused && !isTemporary(error.status)) throw error
    } finally {
      watch.stop()
    }
    if (signal?.aborted) return
    onConnection('lost')
    await waitBeforeRetry(failures++, signal)
  }
}

const isTemporary = (status: number) => status === 408 || status === 425 || status === 429 || status >= 500

async function* chunksOf({ body }: Response, watch: IdleTimer): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader = body.getReader()
  try {
    for (;;) {
      watch.start()
      const { done, value } = await reader.read()
      watch.pause() // whoever takes long over a piece is not kept waiting by the server
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {}) // it is over either way
  }
}

interface IdleTimer {
  /** Aborts after too long a silence, and when the caller's does. */
  readonly signal: AbortSignal
  start(): void
  pause(): void
  stop(): void
}

/** A cable that was pulled, or a laptop that slept, closes no connection: only silence tells. Listens from the request on. */
function startIdleTimer(silenceMs: number, outer: AbortSignal | undefined): IdleTimer {
  const silence = new AbortController()
  const leave = () => silence.abort(outer?.reason)
  outer?.addEventListener('abort', leave, { once: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  const rest = () => clearTimeout(timer)
  const listen = () => {
    rest()
    timer = setTimeout(() => silence.abort(new Error('the line is silent')), silenceMs)
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

/** Longer after each failure, and never all clients at once. */
function waitBeforeRetry(failures: number, signal: AbortSignal | undefined): Promise<void> {
  const longest = Math.min(maxRetryMs, minRetryMs * 2 ** failures)
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, longest * (0.5 + Math.random() / 2))
    signal?.addEventListener('abort', done, { once: true })
  })
}
