import { get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { queryObjects } from 'node:v8'
import { afterEach, expect, it } from 'vitest'
import { listen } from './listen.ts'
import { noLog } from './log.ts'

let server: Server
afterEach(() => server.close())

/** A response of so many pieces, that then stays open until somebody hangs up. */
async function serve(pieces: number) {
  const hungUp = Promise.withResolvers<void>()
  let sent = 0
  const body = () =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise(setImmediate) // as events come: the client is never busy, so nothing ever waits for it
        if (sent < pieces) controller.enqueue(Buffer.from(`data: ${++sent}\n\n`))
        else await hungUp.promise
      },
      cancel: () => hungUp.resolve(),
    })
  const fetch = () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
  server = await listen({ fetch }, { host: '127.0.0.1', port: 0, headersMs: 10_000, requestMs: 10_000, log: noLog })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, hungUp: hungUp.promise }
}

/** The open response, once its last piece has come. */
function heard(url: string, pieces: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let last = ''
      response.on('data', (bytes: Buffer) => {
        last = last.slice(-40) + bytes.toString('latin1')
        if (last.includes(`data: ${pieces}\n`)) resolve(response)
      })
    }).on('error', reject)
  })
}

const promises = () => queryObjects(Promise, { format: 'count' }) as number

it('keeps nothing of what it has told, however long it lasts', async () => {
  const pieces = 20_000
  const { url, hungUp } = await serve(pieces)
  const before = promises()
  const response = await heard(url, pieces)
  expect(promises() - before).toBeLessThan(pieces / 10)
  response.destroy()
  await hungUp
})
