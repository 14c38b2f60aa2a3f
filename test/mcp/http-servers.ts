import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

/** Handles the requests of a server. */
export type Handler = (request: IncomingMessage, response: ServerResponse, body?: unknown) => void

/** Starts a server on a port of this machine. It ends with the test. */
export async function listen(handler: Handler, port = 0) {
  const server = createServer((request, response) => handler(request, response))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  const { port: used } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${used}/mcp`, port: used, close }
}

/** A server of the protocol's own SDK. With `sessions`, it remembers its clients, and refuses those that it does not know. */
export function sdkHandler({ sessions = true, token }: { readonly sessions?: boolean; readonly token?: string } = {}): Handler {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const open = async () => {
    const server = new McpServer({ name: 'demo', version: '1' })
    server.registerTool('add', { description: 'Adds.', inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
      content: [{ type: 'text', text: `The sum is ${a + b}.` }],
    }))
    server.registerTool('grow', { description: 'Adds a tool.' }, () => {
      server.registerTool('grown', { description: 'New.' }, () => ({ content: [{ type: 'text', text: 'grown' }] }))
      return { content: [{ type: 'text', text: 'It has grown.' }] }
    })
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport(
      sessions ? { sessionIdGenerator: () => crypto.randomUUID(), onsessioninitialized: (id) => void transports.set(id, transport) } : {},
    )
    await server.connect(transport as Transport)
    return transport
  }
  return async (request, response, body) => {
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(403).end('no')
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? transports.get(id) : undefined
    if (id !== undefined && !known)
      return void response.writeHead(404).end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}')
    await (known ?? (await open())).handleRequest(request, response, body)
  }
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
