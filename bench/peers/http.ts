import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Peer, ServedPeer } from './script.ts'

/** Starts a server on a free port of this machine. */
export async function listen(server: Server): Promise<ServedPeer> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A server for frameworks that have none: it runs one turn per request, and writes each piece of text as an event. */
export function serveTurns(peer: Peer): Promise<ServedPeer> {
  const server = createServer(async (incoming, response) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    const { conversation, text } = JSON.parse(body) as { conversation: string; text: string }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    await peer.turn(conversation, text, (piece) => response.write(`data: ${JSON.stringify({ piece })}\n\n`))
    response.end('data: [DONE]\n\n')
  })
  return listen(server)
}

/** Sends one message, and reads the stream of the turn to its end. */
export function ask(base: string, conversation: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(base, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      response.resume()
      response.once('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`the server answered ${response.statusCode}`)),
      )
      response.once('error', reject)
    })
    outgoing.once('error', reject)
    outgoing.end(JSON.stringify({ conversation, text }))
  })
}
