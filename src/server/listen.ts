import { createServer, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { getRequestListener as RequestListener } from '@hono/node-server'
import { type OpenPort, openPort } from './accept.ts'
import type { App } from './handler.ts'
import { dataPolicy, securityHeaders } from './headers.ts'
import type { Log } from './log.ts'
import { problemOf, RequestProblem } from './problem.ts'

interface ListenOptions {
  readonly host: string
  readonly port: number
  /** How many milliseconds the headers of a request may take to arrive. */
  readonly headersMs: number
  /** How many milliseconds the whole request may take to arrive. */
  readonly requestMs: number
  /** How many milliseconds a client may take to read a piece of a file. After this time, the connection is closed. */
  readonly downloadIdleMs: number
  readonly log: Log
}

/** A server that accepts requests. */
export interface Listening extends OpenPort {
  closeIdleConnections(): void
  closeAllConnections(): void
}

type FetchCallback = Parameters<typeof RequestListener>[0]

/**
 * Serves the app with Node's HTTP server. Requests that are not valid HTTP or arrive too slowly do not reach the app. For such requests,
 * this function itself writes an `application/problem+json` response.
 */
export async function listen(app: Pick<App, 'fetch'>, options: ListenOptions): Promise<Listening> {
  const { host, port, headersMs, requestMs, downloadIdleMs, log } = options
  const { getRequestListener, RequestError } = await import('@hono/node-server')
  const { RESPONSE_ALREADY_SENT } = await import('@hono/node-server/utils/response')
  const handle: FetchCallback = async (request, env) => {
    const response = await app.fetch(request, env)
    const isFile = response.headers.has('accept-ranges')
    if (!('outgoing' in env) || response.body === null || !(isFile || isEventStream(response))) return response
    // `sendStream` never rejects: after an error it closes the connection
    void sendStream(response, env.outgoing as ServerResponse, isFile ? downloadIdleMs : undefined)
    return RESPONSE_ALREADY_SENT
  }
  const listener = getRequestListener(handle, {
    hostname: host,
    overrideGlobalObjects: false, // otherwise the adapter would replace the global `Request` and `Response` of the process
    errorHandler(error) {
      if (error instanceof RequestError) return problemResponse(malformedRequest)
      log('error', 'request.failed', { error })
      return problemResponse(error)
    },
  })
  const responses = new WeakMap<Duplex, ServerResponse>()
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(headersMs, 30_000) / 2,
      // without this, Node would reject a request without `Host` with a response in its own format. The authentication rejects it with a
      // problem
      requireHostHeader: false,
    },
    (request, response) => {
      responses.set(request.socket, response)
      void listener(request, response)
    },
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = responses.get(socket)
    // If a response is being sent, the connection is closed and no problem is sent. Otherwise the problem would become part of that
    // response.
    const midResponse = response?.headersSent === true && !response.writableEnded
    if (!socket.writable || midResponse || error.code === 'ECONNRESET') return void socket.destroy()
    socket.end(rawResponse(clientErrorProblems[error.code ?? ''] ?? malformedRequest))
  })
  const opened = await openPort(server, { host, port })
  return {
    ...opened,
    closeIdleConnections: () => server.closeIdleConnections(),
    closeAllConnections: () => server.closeAllConnections(),
  }
}

const malformedRequest = new RequestProblem(400, 'request.broken', 'The request is not valid HTTP.')
const clientErrorProblems: Readonly<Record<string, RequestProblem>> = {
  HPE_HEADER_OVERFLOW: new RequestProblem(431, 'request.too_large', 'The headers of the request are too large.'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new RequestProblem(413, 'request.too_large', 'The request is too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: new RequestProblem(408, 'request.too_slow', 'The request took too long to arrive.'),
}

const problemHeaders = {
  ...securityHeaders,
  'content-type': 'application/problem+json',
  'content-security-policy': dataPolicy,
  'cache-control': 'no-store',
  connection: 'close',
}

function problemResponse(error: unknown): Response {
  const problem = problemOf(error)
  return new Response(JSON.stringify(problem), { status: problem.status, headers: problemHeaders })
}

function rawResponse(error: RequestProblem): string {
  const body = JSON.stringify(problemOf(error))
  const lines = Object.entries({ ...problemHeaders, 'content-length': String(Buffer.byteLength(body)) }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return [`HTTP/1.1 ${error.status} `, ...lines, '', body].join('\r\n')
}

const isEventStream = (response: Response): boolean => (response.headers.get('content-type') ?? '').startsWith('text/event-stream')

/**
 * Sends a file or an event stream. It replaces the function of `@hono/node-server`, which keeps a promise for every chunk until the stream
 * ends. That would use too much memory, because an event stream may last for days. If the client disconnects, the stream is cancelled. If
 * the client reads nothing for `idleMs`, the connection is closed, which also cancels the stream.
 */
async function sendStream(response: Response, outgoing: ServerResponse, idleMs?: number): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const onClose = () => void reader.cancel().catch(() => {}) // a failure is ignored, because the stream has already ended
  outgoing.once('close', onClose)
  if (outgoing.destroyed) return onClose() // the client has disconnected before the response was ready
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (!outgoing.write(next.value) && !outgoing.destroyed) await waitForDrain(outgoing, idleMs)
    }
    outgoing.end()
  } catch {
    outgoing.destroy() // with `destroy`, the client sees that the response is incomplete. After `end` it would look complete
  } finally {
    outgoing.off('close', onClose)
  }
}

/**
 * Waits until the client has read the bytes that were written, or has disconnected. If it reads nothing for `idleMs`, the connection is
 * closed.
 */
function waitForDrain(outgoing: ServerResponse, idleMs?: number): Promise<void> {
  return new Promise((resolve) => {
    const idle = idleMs === undefined ? undefined : setTimeout(() => outgoing.destroy(), idleMs)
    const proceed = () => {
      clearTimeout(idle)
      outgoing.off('drain', proceed)
      outgoing.off('close', proceed)
      resolve()
    }
    outgoing.once('drain', proceed)
    outgoing.once('close', proceed)
  })
}
