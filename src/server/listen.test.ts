import { spawn } from 'node:child_process'
import { get, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { queryObjects } from 'node:v8'
import { afterEach, expect, it } from 'vitest'
import { type Listening, listen } from './listen.ts'
import { noLog } from './log.ts'

let server: Listening
afterEach(() => void server.close())

/** Serves a response with this many chunks. It stays open until the client disconnects. */
async function serve(chunks: number) {
  const disconnected = Promise.withResolvers<void>()
  let sent = 0
  const body = () =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise(setImmediate) // one chunk at a time, like an event stream
        if (sent < chunks) controller.enqueue(Buffer.from(`data: ${++sent}\n\n`))
        else await disconnected.promise
      },
      cancel: () => disconnected.resolve(),
    })
  const fetch = () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
  server = await listen({ fetch }, { host: '127.0.0.1', port: 0, headersMs: 10_000, requestMs: 10_000, downloadIdleMs: 1_000, log: noLog })
  return { url: `http://127.0.0.1:${server.port}/`, disconnected: disconnected.promise }
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

const options = { host: '127.0.0.1', headersMs: 10_000, requestMs: 10_000, downloadIdleMs: 1_000, log: noLog }

it.runIf(process.platform === 'linux')('several connections are accepted in one turn of the event loop', async () => {
  const connections = 64
  let requests = 0
  const fetch = () => {
    requests++
    return new Response('ok', { headers: { connection: 'close' } })
  }
  server = await listen({ fetch }, { ...options, port: 0 })
  const program = `for (let i = 0; i < ${connections}; i++) require('net').connect(${server.port}, '127.0.0.1').on('error', () => {}).end('GET / HTTP/1.1\\r\\nhost: a\\r\\nconnection: close\\r\\n\\r\\n').resume()`
  spawn(process.execPath, ['-e', program], { stdio: 'inherit' })
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000) // the event loop is blocked, and the connections wait
  let turns = 0
  for (; requests < connections; turns++) await new Promise(setImmediate)
  expect(turns).toBeLessThan(connections / 2)
})

it('a port that another program uses is not shared', async () => {
  const fetch = () => new Response('ok')
  server = await listen({ fetch }, { ...options, port: 0 })
  await expect(listen({ fetch }, { ...options, port: server.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  const other = createServer()
  const refused = new Promise((resolve) => other.once('error', resolve))
  other.listen(server.port, '127.0.0.1')
  expect(await refused).toMatchObject({ code: 'EADDRINUSE' })
})
