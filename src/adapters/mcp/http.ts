import type { McpAddress } from '../../ports/mcp-configuration.ts'
import { limitedBody } from './messages.ts'
import type { ServerTransport } from './program.ts'

/** Connects to a server over HTTP. If a message is too long or the connection breaks, the transport is closed, so that calls do not wait. */
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
    fetch: async (address, init) => limitedBody(await send(address, init), maxMessageBytes, onBroken),
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
