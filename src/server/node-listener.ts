import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Handler } from './create-handler.ts'
import { securityHeaders } from './headers.ts'
import { problemOf, RequestProblem } from './problem.ts'

/** A function that answers the requests of a server of `node:http`. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/**
 * Makes a request listener of a handler, for frameworks that are built on `node:http`, such as Express and Fastify. Mount it before any
 * middleware that reads the bodies of requests.
 */
export function createNodeListener(handler: Handler): NodeListener {
  let listener: Promise<NodeListener> | undefined
  return (incoming, outgoing) => {
    const { originalUrl } = incoming as { readonly originalUrl?: unknown }
    // Express removes the path under which a listener is mounted from `url`. The handler expects the whole address
    if (typeof originalUrl === 'string') incoming.url = originalUrl
    if (incoming.readableDidRead && hasBody(incoming)) return refuse(outgoing)
    listener ??= openListener(handler)
    listener.then(
      (answer) => answer(incoming, outgoing),
      (error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined),
    )
  }
}

async function openListener(handler: Handler): Promise<NodeListener> {
  const { getRequestListener } = await import('@hono/node-server')
  // otherwise the adapter would replace the global `Request` and `Response` of the process
  return getRequestListener(handler, { overrideGlobalObjects: false })
}

const hasBody = ({ headers }: IncomingMessage) => headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const bodyWasRead = new RequestProblem(
  500,
  'request.broken',
  'Something has read the body of this request already: mount Daybook before body parsers such as express.json().',
)

function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(bodyWasRead.status, { ...securityHeaders, 'content-type': 'application/problem+json' })
  outgoing.end(JSON.stringify(problemOf(bodyWasRead)))
}
