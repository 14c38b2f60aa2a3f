import type { MessagePending } from '../core/api/turn.ts'
import type { TurnResultView } from '../core/api/turn-result.ts'
import { type Request, RequestRefused } from './request.ts'

/** How many seconds one request waits for the end of the turn. */
const WAIT_SECONDS = 20

/** The pause after a request that failed. It is random, so that many clients do not retry at the same time. */
const pauseMs = () => 250 + Math.random() * 500

/**
 * Asks for the result of a message until the turn that answers it is closed. Each request may be answered by another server that uses the
 * same store.
 */
export async function untilClosed(request: Request, path: string, signal: AbortSignal | undefined): Promise<TurnResultView> {
  for (;;) {
    try {
      const response = await request(path, { query: { wait: WAIT_SECONDS }, ...(signal && { signal }) })
      if (response.status === 200) return (await response.json()) as TurnResultView
      await (response.json() as Promise<MessagePending>) // reads the body, so that the connection can be used again
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof RequestRefused && !isPassing(error.status)) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs()))
    }
  }
}

/** Whether a refused request can succeed later, because its status means too many requests or an unavailable server. */
const isPassing = (status: number): boolean => status === 429 || status === 502 || status === 503 || status === 504
