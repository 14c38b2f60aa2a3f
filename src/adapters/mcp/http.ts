import type { McpAddress } from '../../ports/mcp-configuration.ts'
import { limitedBody } from './messages.ts'
import type { ServerTransport } from './program.ts'

/**
 * Connects to a server over HTTP. If a message is too long or the connection of a call breaks, the transport is closed, so that calls do
 * not wait. The stream of messages that belong to no call (GET) may break at any time. The SDK then opens it again.
 */
export async function createHttpTransport(
  { url, headers }: McpAddress,
  maxMessageBytes: number,
  send: typeof fetch = fetch,
): Promise<ServerTransport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  let ending: string | undefined
  let isClosing = false
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...(headers && { requestInit: { headers: { ...headers } } }),
    fetch: async (address, init) => {
      const isCall = init?.method === 'POST'
      return limitedBody(await fetchOwn(send, new URL(address), init), maxMessageBytes, (reason, kind) => {
        if (isCall || kind === 'too large') onBroken(reason)
      })
    },
    reconnectionOptions: reconnection,
  })
  const close = transport.close.bind(transport)

  function onBroken(reason: string): void {
    if (isClosing || ending !== undefined) return
    ending = reason
    void close()
  }

  return Object.defineProperties(Object.assign(transport, { lastWords: '' }), {
    ending: { get: () => ending },
    close: {
      value: async () => {
        isClosing = true
        await close()
      },
    },
  }) as typeof transport & ServerTransport
}

const reconnection = { initialReconnectionDelay: 5_000, maxReconnectionDelay: 60_000, reconnectionDelayGrowFactor: 2, maxRetries: 100 }

const MAX_REDIRECTS = 5

/**
 * Sends a request, and follows redirects only to other paths of the same server. If `fetch` itself followed redirects, it would send the
 * parameters of a call and headers with keys to any address.
 */
async function fetchOwn(send: typeof fetch, first: URL, init: RequestInit | undefined): Promise<Response> {
  let address = first
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const response = await send(address, { ...init, redirect: 'manual' })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null) return response
    await response.body?.cancel()
    if (!URL.canParse(location, address.href)) throw new Error('it redirects to an invalid address')
    const target = new URL(location, address)
    if (target.origin !== first.origin) throw new Error(`it redirects to another address: ${target.origin}`)
    address = target
  }
  throw new Error('it redirects too often')
}
