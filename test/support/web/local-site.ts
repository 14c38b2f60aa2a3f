import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A response: HTML, or anything else as a function. */
export type Answer = string | ((request: IncomingMessage, response: ServerResponse) => void)

export interface LocalSite {
  readonly port: number
  /** `127.0.0.1:<port>`, for the option `allow`. */
  readonly host: string
  /** The address of a path. */
  url(path: string): string
  /** The requests so far as `GET /path`, without those for `robots.txt`. */
  readonly requests: readonly string[]
  readonly headers: readonly IncomingMessage['headers'][]
  close(): Promise<void>
}

/** Starts an HTTP server on this machine. `pages` maps paths to answers. Other paths have the status 404. */
export async function startSite(pages: Readonly<Record<string, Answer>>, address = '127.0.0.1'): Promise<LocalSite> {
  const requests: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    if (path !== '/robots.txt') {
      requests.push(`${request.method} ${path}`)
      headers.push(request.headers)
    }
    const answer = Object.hasOwn(pages, path) ? pages[path] : pages[path.split('?', 1)[0] ?? '']
    if (typeof answer === 'function') answer(request, response)
    else if (answer === undefined) response.writeHead(404, { 'content-type': 'text/html' }).end('<p>Not here.</p>')
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  const host = `${address.includes(':') ? `[${address}]` : address}:${port}`
  return {
    port,
    host,
    url: (path) => `http://${host}${path}`,
    requests,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const redirectTo =
  (location: string, status = 302): Answer =>
  (_, response) =>
    void response.writeHead(status, { location }).end()
