import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that passes each request to one of several servers, in turn. */
export interface Front {
  readonly url: string
  /** Which server got the request that was passed on last. */
  readonly last: number | undefined
  close(): Promise<void>
}

/**
 * Starts a front. If a server can not be reached, or answers 503 because it shuts down, the request is passed to the next server. So no
 * request fails while at least one server works. `urls` returns the addresses of the current servers.
 */
export async function startFront(urls: () => readonly string[], port: number): Promise<Front> {
  let next = 0
  let last: number | undefined
  const server = createServer((incoming, outgoing) => {
    const body: Buffer[] = []
    incoming.on('data', (piece: Buffer) => void body.push(piece))
    incoming.on('end', () => pass(incoming, Buffer.concat(body), outgoing, urls().length))
  })

  function pass(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, tries: number): void {
    const servers = urls()
    const index = next++ % servers.length
    const target = new URL(incoming.url ?? '/', servers[index])
    const passed = request(target, { method: incoming.method ?? 'GET', headers: incoming.headers, agent: false }, (answer) => {
      if (answer.statusCode === 503 && tries > 1) {
        answer.resume()
        return pass(incoming, body, outgoing, tries - 1)
      }
      last = index
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => outgoing.destroy()) // the server was killed: the client connects again
      answer.pipe(outgoing)
    })
    passed.on('error', () => {
      if (outgoing.headersSent) return outgoing.destroy()
      // the server may have handled the request before its answer was lost. An idempotency key prevents that the request is handled twice
      if (tries > 1) return pass(incoming, body, outgoing, tries - 1)
      outgoing.writeHead(503, { 'retry-after': '1' }).end('No replica can be reached.')
    })
    outgoing.on('close', () => passed.destroy())
    passed.end(body)
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get last() {
      return last
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
