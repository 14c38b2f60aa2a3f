import { get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { queryObjects } from 'node:v8'
import { afterEach, expect, it } from 'vitest'
import { listen } from './listen.ts'
import { noLog } from './log.ts'

let server: Server
afterEach(() => server.close())

/** Serves a response with this many chunks. It stays open until the client disconnects. */
async function serve(chunks: number) {
  const disconnected = Promise.withResolvers<void>()
  let sent = 0
  const body = () =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise(setImmediate) // one chunk at a time, as with events
        if (sent < chunks) controller.enqueue(Buffer.from(`data: ${++sent}\n\n`))
        else await disconnected.promise
      },
      cancel: () => disconnected.resolve(),
    })
  const fetch = () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
  server = await listen({ fetch }, { host: '127.0.0.1', port: 0, headersMs: 10_000, requestMs: 10_000, downloadIdleMs: 1_000, log: noLog })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, disconnected: disconnected.promise }
}

/** Resolves to the open response when its last chunk has arrived. */
function received(url: string, chunks: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let last = ''
      response.on('data', (bytes: Buffer) => {
        last = last.slice(-40) + bytes.toString('latin1')
        if (last.includes(`data: ${chunks}\n`)) resolve(response)
      })
    }).on('error', reject)
  })
}

const promises = () => queryObjects(Promise, { format: 'count' }) as number

it('a long event stream does not keep the chunks that it has sent', async () => {
  const chunks = 20_000
  const { url, disconnected } = await serve(chunks)
  const before = promises()
  const response = await received(url, chunks)
  expect(promises() - before).toBeLessThan(chunks / 10)
  response.destroy()
  await disconnected
})
