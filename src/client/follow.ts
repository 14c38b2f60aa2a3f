import type { NativeFrame } from '../core/api/event.ts'
import type { TurnEvent } from '../core/event.ts'
import { type Request, RequestRefused } from './request.ts'
import { serverSentEvents } from './server-sent-events.ts'

export interface FollowOptions {
  /** Entries after this one; from the beginning when not said. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** Told when the line breaks and when it is there again. */
  readonly onConnection?: (state: 'open' | 'lost') => void
}

const firstPauseMs = 250
const longestPauseMs = 10_000

/**
 * Everything after an entry, then everything that happens, for as long as one likes: a broken line is mended, and nothing is told twice
 * or left out. What is live is told again from its beginning after a break. Throws only when the server refuses.
 */
export async function* follow(
  request: Request,
  path: string,
  { after = 0, signal, onConnection = () => {} }: FollowOptions = {},
): AsyncGenerator<TurnEvent> {
  let last = after
  let failures = 0
  while (!signal?.aborted) {
    try {
      const response = await request(path, {
        query: { as: 'native', after: last },
        headers: { accept: 'text/event-stream' },
        ...(signal && { signal }),
      })
      onConnection('open')
      for await (const { data } of serverSentEvents(piecesOf(response))) {
        failures = 0
        const frame = JSON.parse(data) as NativeFrame // our own server's words
        if (frame.type === 'resync' || frame.type === 'server_shutdown') break
        if (frame.type === 'ready' || (frame.type === 'entry' && frame.seq <= last)) continue
        if (frame.type === 'entry') last = frame.seq
        yield frame
      }
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof RequestRefused && !isPassing(error.status)) throw error
    }
    if (signal?.aborted) return
    onConnection('lost')
    await pause(failures++, signal)
  }
}

const isPassing = (status: number) => status === 408 || status === 425 || status === 429 || status >= 500

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {}) // it is over either way
  }
}

/** Longer after each failure, and never all clients at once. */
function pause(failures: number, signal: AbortSignal | undefined): Promise<void> {
  const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** failures)
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
