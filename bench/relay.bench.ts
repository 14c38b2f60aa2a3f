import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '../src/client/client.ts'
import { report } from './measure.ts'

const followers = 100
const seconds = Number(process.env.RELAY_SECONDS ?? 6)
const piecesATurn = 2_000

/** Measures a server in a second process, over 127.0.0.1. */
export async function bench(): Promise<void> {
  const child = fork(join(import.meta.dirname, 'relay-server.ts'), { execArgv: ['--expose-gc'] })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  try {
    // this measurement runs first: after the other measurements, the process could reuse memory that they have freed, and the measured
    // growth would be too small
    await idle(url, child)
    await firstDelta(url)
    await relay(url, child)
  } finally {
    child.disconnect()
    await once(child, 'exit')
  }
  await ready()
}

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })

const follow = (url: string, id: string) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}/v1/conversations/${id}/events?as=native`, { agent }, resolve).once('error', reject)
  })

/** The memory of the server in megabytes after a garbage collection, and the processor time in seconds that it has used so far. */
async function stateOf(child: ChildProcess): Promise<{ readonly rss: number; readonly cpu: number }> {
  child.send('state')
  const [{ rss, cpu }] = (await once(child, 'message')) as [{ rss: number; cpu: number }]
  return { rss: rss / 1024 / 1024, cpu }
}

/** Measures how many deltas the server sends per second. For some seconds, it streams turns to a hundred followers. */
async function relay(url: string, child: ChildProcess): Promise<void> {
  const client = createClient({ baseUrl: url })
  await client.conversations.create({ id: 'flood', title: 'Flood' })
  let closed = 0
  let wake = () => {}
  const streams = await Promise.all(Array.from({ length: followers }, () => follow(url, 'flood')))
  for (const stream of streams) {
    stream.on('data', (bytes: Buffer) => {
      if (!bytes.includes('"turn.closed"')) return
      closed++
      wake()
    })
  }
  const memory: (readonly [seconds: number, megabytes: number])[] = []
  const before = await stateOf(child)
  const began = performance.now()
  let turns = 0
  for (; (performance.now() - began) / 1000 < seconds; turns++) {
    await client.send('flood', `flood ${piecesATurn}`)
    while (closed < followers * (turns + 1)) await new Promise<void>((resolve) => (wake = resolve))
    memory.push([(performance.now() - began) / 1000, (await stateOf(child)).rss])
  }
  const took = (performance.now() - began) / 1000
  const work = (await stateOf(child)).cpu - before.cpu
  for (const stream of streams) stream.destroy()
  const rate = (turns * piecesATurn * followers) / took
  report(`relay to ${followers} followers (${Math.round(rate / 1000)}k deltas/s)`, 100_000 / rate, 1, '100k/s')
  report('relay, by processor time of the server', (100_000 * work) / (turns * piecesATurn * followers), 1, '100k/s')
  const late = memory.slice(Math.floor(memory.length / 3))
  const kept = (turns * piecesATurn * 21 * 2) / 1024 / 1024 // the memory store keeps each text twice: in a block, and in the raw response
  console.log(
    `  ${turns} turns in ${took.toFixed(1)} s; memory ${slope(late).toFixed(1)} MB/min, of which the store keeps ${((kept / took) * 60).toFixed(1)}`,
  )
}

/** The slope of a line through the points, by least squares. Times are in seconds; the result is per minute. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(([time]) => time)), mean(points.map(([, size]) => size))]
  const above = points.reduce((sum, [time, size]) => sum + (time - x) * (size - y), 0)
  return (above / points.reduce((sum, [time]) => sum + (time - x) ** 2, 0)) * 60
}

/** Measures the delay from the model's first token to its arrival at the client, while a hundred turns run. */
async function firstDelta(url: string): Promise<void> {
  const client = createClient({ baseUrl: url })
  const waits: number[] = []
  for (let repeat = 0; repeat < 4; repeat++) {
    waits.length = repeat === 1 ? 0 : waits.length // drops the first run, which is the warm-up
    const ids = Array.from({ length: followers }, (_, index) => `first-${repeat}-${index}`)
    await Promise.all(ids.map((id) => client.conversations.create({ id, title: 'First' })))
    const streams = await Promise.all(ids.map((id) => follow(url, id)))
    const heard = streams.map(
      (stream) =>
        new Promise<void>((resolve) => {
          let text = ''
          stream.on('data', (bytes: Buffer) => {
            const at = performance.timeOrigin + performance.now()
            text = text.slice(-200) + bytes.toString('latin1')
            const said = /"text":"T([\d.]+);/.exec(text)?.[1]
            if (said !== undefined && !done) waits.push(at - Number(said))
            done ||= said !== undefined
            if (text.includes('"turn.closed"')) resolve()
          })
          let done = false
        }),
    )
    await Promise.all(ids.map((id) => client.send(id, 'Hello.')))
    await Promise.all(heard)
    for (const stream of streams) stream.destroy()
  }
  waits.sort((a, b) => a - b)
  const at = (share: number) => waits[Math.floor(waits.length * share)] ?? Number.NaN
  report(`first delta at ${followers} turns, p99 (median ${at(0.5).toFixed(1)} ms)`, at(0.99) / 5, 1, '5 ms')
}

async function idle(url: string, child: ChildProcess): Promise<void> {
  const client = createClient({ baseUrl: url })
  await client.conversations.create({ id: 'idle' })
  const warm = await Promise.all(Array.from({ length: 50 }, () => follow(url, 'idle')))
  for (const stream of warm) stream.destroy()
  const { rss: before } = await stateOf(child)
  const streams = await Promise.all(Array.from({ length: 500 }, () => follow(url, 'idle')))
  for (const stream of streams) stream.resume()
  await new Promise((resolve) => setTimeout(resolve, 500))
  const grown = (await stateOf(child)).rss - before
  for (const stream of streams) stream.destroy()
  report(`500 idle followers (${grown.toFixed(0)} MB)`, grown / 50, 1, '50 MB')
}

/** Measures the time from the start of a server process to its first response. */
async function ready(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-ready-'))
  const script = join(import.meta.dirname, '../test/support/crash/serve-child.ts')
  const times: number[] = []
  for (let repeat = 0; repeat < 3; repeat++) {
    const began = performance.now()
    const child = spawn(process.execPath, [script, folder, '0', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const exited = once(child, 'exit')
    for await (const line of createInterface({ input: child.stdout })) {
      const answer = await fetch(`${line.replace('listening ', '')}/ready`)
      if (answer.ok) times.push(performance.now() - began)
      break
    }
    child.kill('SIGKILL')
    await exited
  }
  rmSync(folder, { recursive: true, force: true })
  const best = Math.min(...times)
  report(`server ready on SQLite (${Math.round(best)} ms)`, best / 1000, 1, '1 s')
}
