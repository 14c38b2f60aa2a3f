import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLoadClient } from '../../test/support/load/load-client.ts'

/** The times of the turns that a server has run. */
export interface ServerTurns {
  readonly cpuMs: number
  readonly turnsPerSecond: number
  readonly p99: number
}

/** Runs one turn of a conversation, from the request to its last event. */
type RunTurn = (conversation: number) => Promise<void>

/**
 * Starts a server of the package in `from`, and lets `atOnce` conversations run turns for some seconds. A conversation begins its next turn
 * when the last event of its turn has arrived.
 */
export async function measureServer(
  from: string,
  of: 'daybook' | 'floor',
  { atOnce, seconds, paceMs }: { readonly atOnce: number; readonly seconds: number; readonly paceMs?: number },
  execArgv: readonly string[] = [],
): Promise<ServerTurns> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-watched-'))
  const choices = JSON.stringify({ of, folder, ...(paceMs !== undefined && { paceMs }) })
  const child = fork(join(from, 'server.ts'), [choices], { cwd: from, execArgv: [...execArgv] })
  try {
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    const { turn, close } = await (of === 'floor' ? floorClient(url) : daybookClient(url, atOnce))
    const conversations = Array.from({ length: atOnce }, (_, n) => n)
    await Promise.all(conversations.map(turn)) // warm-up of the code and the connections
    if (atOnce < 10) for (let n = 0; n < 100; n++) await turn(0)
    const before = await cpuOf(child)
    const began = performance.now()
    const times: number[] = []
    await Promise.all(
      conversations.map(async (conversation) => {
        while (performance.now() - began < seconds * 1_000) {
          const started = performance.now()
          await turn(conversation)
          times.push(performance.now() - started)
        }
      }),
    )
    const took = (performance.now() - began) / 1_000
    const cpuMs = ((await cpuOf(child)) - before) / times.length
    close()
    return {
      cpuMs,
      turnsPerSecond: times.length / took,
      p99: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN,
    }
  } finally {
    const exited = once(child, 'exit')
    child.disconnect()
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send('measure')
  const [{ cpuMs }] = (await once(child, 'message')) as [{ cpuMs: number }]
  return cpuMs
}

/** A client that follows all conversations, and sends messages to them. */
async function daybookClient(url: string, atOnce: number): Promise<{ readonly turn: RunTurn; close(): void }> {
  const onError = (what: string) => {
    throw new Error(what)
  }
  const client = createLoadClient({ url: () => url, onError, survivesLoss: false })
  const onClosed = new Map<number, () => void>()
  let messages = 0
  for (let n = 0; n < atOnce; n++) {
    await client.create(`c${n}`)
    await new Promise<void>((resolve) => {
      client.follow(`c${n}`, {
        onOpen: () => resolve(),
        onEvent(_seq, data) {
          if (data.includes('"turn.closed"')) onClosed.get(n)?.()
        },
      })
    })
  }
  return {
    async turn(n) {
      const closed = new Promise<void>((resolve) => onClosed.set(n, resolve))
      await client.send(`c${n}`, `m${messages++}`, 'Add up.')
      await closed
    },
    close: client.close,
  }
}

/** A client of the server without Daybook (the floor): the response to a message is the stream of the turn. */
async function floorClient(url: string): Promise<{ readonly turn: RunTurn; close(): void }> {
  const agent = new Agent({ keepAlive: true })
  return {
    turn: (n) =>
      new Promise((resolve, reject) => {
        const sending = request(`${url}/c${n}`, { agent, method: 'POST' }, (response) => {
          response.resume()
          response.once('end', resolve)
        })
        sending.once('error', reject)
        sending.end(JSON.stringify({ text: 'Add up.' }))
      }),
    close: () => agent.destroy(),
  }
}
