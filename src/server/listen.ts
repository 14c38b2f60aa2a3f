import { createServer, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { getRequestListener as RequestListener } from '@hono/node-server'
import type { App } from './handler.ts'
import { dataPolicy, securityHeaders } from './headers.ts'
import type { Log } from './log.ts'
import { problemOf, type RequestCode, RequestProblem } from './problem.ts'

export interface ListenOptions {
  readonly host: string
  readonly port: number
  /** How long the head of a request may take, and all of it. */
  readonly headersMs: number
  readonly requestMs: number
  readonly log: Log
}

type FetchCallback = Parameters<typeof RequestListener>[0]

/** Serves the app. What never becomes a request of it is told what is wrong in the same form as everything else. */
export async function listen(app: Pick<App, 'fetch'>, { host, port, headersMs, requestMs, log }: ListenOptions): Promise<Server> {
  const { getRequestListener, RequestError } = await import('@hono/node-server')
  const { RESPONSE_ALREADY_SENT } = await import('@hono/node-server/utils/response')
  const told: FetchCallback = async (request, env) => {
    const response = await app.fetch(request, env)
    if (!('outgoing' in env) || !isEventStream(response)) return response
    void sendStream(response, env.outgoing as ServerResponse) // what goes wrong ends the connection
    return RESPONSE_ALREADY_SENT
  }
  const answer = getRequestListener(told, {
    hostname: host,
    overrideGlobalObjects: false, // whoever runs this in their own process keeps their own `Response`
    errorHandler(error) {
      if (error instanceof RequestError) return problemResponse(malformedRequest)
      log('error', 'request.failed', { error })
      return problemResponse(error)
    },
  })
  const answering = new WeakMap<Duplex, ServerResponse>()
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(headersMs, 30_000) / 2,
      requireHostHeader: false, // refused where everything else is
    },
    (request, response) => {
      answering.set(request.socket, response)
      void answer(request, response)
    },
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const half = answering.get(socket)?.headersSent === true && answering.get(socket)?.writableEnded !== true
    if (!socket.writable || half || error.code === 'ECONNRESET') return void socket.destroy() // words would end up inside an answer
    socket.end(rawResponse(clientErrorProblems[error.code ?? ''] ?? malformedRequest))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return server
}

const requestProblem = (status: number, code: RequestCode, title: string) => new RequestProblem(status, code, title)

const malformedRequest = requestProblem(400, 'request.broken', 'This is not HTTP as it should be.')
const clientErrorProblems: Readonly<Record<string, RequestProblem>> = {
  HPE_HEADER_OVERFLOW: requestProblem(431, 'request.too_large', 'The head of the request is too large.'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: requestProblem(413, 'request.too_large', 'The request is too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: requestProblem(408, 'request.too_slow', 'The request took too long to arrive.'),
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
