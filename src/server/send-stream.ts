import type { ServerResponse } from 'node:http'

/** A response that is told bit by bit, for as long as somebody listens. */
export const isEventStream = (response: Response): boolean =>
  response.body !== null && (response.headers.get('content-type') ?? '').startsWith('text/event-stream')

/**
 * Writes a stream that may last for days. A plain loop: reads that each wait for the next would all be kept until the last.
 * Whoever hangs up ends the stream, and with it what it tells of.
 */
export async function sendStream(response: Response, outgoing: ServerResponse): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const hungUp = () => void reader.cancel().catch(() => {}) // it is over either way
  outgoing.once('close', hungUp)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (!outgoing.write(next.value) && !outgoing.destroyed) await waitForDrain(outgoing)
    }
    outgoing.end()
  } catch {
    outgoing.destroy() // half a stream must not look like a whole one
  } finally {
    outgoing.off('close', hungUp)
  }
}

function waitForDrain(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      outgoing.off('drain', go)
      outgoing.off('close', go)
      resolve()
    }
    outgoing.once('drain', go)
    outgoing.once('close', go)
  })
}
