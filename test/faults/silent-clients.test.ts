import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { countAttempts } from '../support/attacks/count.ts'

const folders: string[] = []
const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Starts a script of this folder, and returns its first line of output. */
async function start(script: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) return { child, line }
  throw new Error(`${script} printed nothing`)
}

async function startServer() {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-memory-'))
  folders.push(folder)
  const { child, line } = await start('memory-server.ts', folder)
  const [, url = '', rn = ''] = line.split(' ')
  const client = createClient({ baseUrl: url })
  /** The memory of the server in MB, as the operating system counts it. */
  const memory = () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
  const gauge = async (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await client.metrics())?.[1])
  const ask = async (id: string, thousands: number) => {
    await client.send(id, `Please answer with ${thousands} thousand characters.`)
    await expect.poll(async () => (await client.conversations.get(id)).open_turn, { timeout: 90_000, interval: 20 }).toBe(null)
  }
  return { url, rn, client, memory, gauge, ask }
}

const waiting = { timeout: 90_000, interval: 50 }
const settle = () => new Promise((resolve) => setTimeout(resolve, 1_500))

/** How many MB the server may use above its idle state. Without limits it would be thousands. */
const limitMb = 600 // usually about 300 is needed; the collector frees memory at different times on different machines

const events = (id: string, as: readonly string[], after: number) =>
  as.map((format) => `/v1/conversations/${id}/events?as=${format}&after=${after}`)
const endless = ['native', 'chat']
const oneTurn = ['ag-ui', 'ui-message'] // these streams end with the turn

describe.skipIf(!existsSync('/proc/self/status'))('the memory of a server stays bounded', () => {
  it('with 300 readers that do not read a file of 9.9 MB', async (context) => {
    countAttempts(context, 300)
    const { url, rn, memory, gauge } = await startServer()
    await (await fetch(`${url}/v1/resources/${rn}`)).arrayBuffer()
    const idle = memory()
    await start('silent-clients-child.ts', url, '300', `/v1/resources/${rn}`)
    await expect.poll(() => gauge('daybook_downloads'), waiting).toBe(300)
    await settle()
    const busy = memory()
    console.log(`300 silent downloads: ${idle.toFixed()} MB idle, ${busy.toFixed()} MB busy`)
    expect(busy - idle).toBeLessThan(limitMb)
  }, 180_000)

  it('with 200 silent followers, while answers of 64 KB and 4 MB are written, and when they join later', async (context) => {
    countAttempts(context, 400)
    const { url, client, memory, gauge, ask } = await startServer()
    for (const id of ['stored', 'live']) await client.conversations.create({ id, title: 'Long answers' })
    const lastSeq = async (id: string) => (await client.conversations.get(id)).last_seq
    await ask('stored', 64)
    const beforeLong = await lastSeq('stored')
    await ask('stored', 4_000)
    await settle()
    const idle = memory()
    const paths = [...events('stored', endless, 0), ...events('stored', oneTurn, beforeLong)]
    const late = await start('silent-clients-child.ts', url, '200', ...paths)
    // of the streams that end with a turn, those have ended whose frames fit into the buffers of the connection
    await expect.poll(() => gauge('daybook_followers'), waiting).toBeGreaterThan(99)
    await settle()
    const joined = memory()
    late.child.kill('SIGKILL')
    await expect.poll(() => gauge('daybook_followers'), waiting).toBe(0)
    await start('silent-clients-child.ts', url, '100', ...events('live', endless, 0))
    await expect.poll(() => gauge('daybook_followers'), waiting).toBe(100)
    for (let turn = 0; turn < 10; turn++) await ask('live', 64)
    await start('silent-clients-child.ts', url, '100', ...events('live', oneTurn, await lastSeq('live')))
    await expect.poll(() => gauge('daybook_followers'), waiting).toBe(200)
    await ask('live', 4_000)
    await settle()
    const followed = memory()
    console.log(`200 silent followers: ${[idle, joined, followed].map((mb) => mb.toFixed()).join(', ')} MB idle, joined, after 11 answers`)
    expect([joined - idle < limitMb, followed - idle < limitMb]).toEqual([true, true])
  }, 300_000)
})
