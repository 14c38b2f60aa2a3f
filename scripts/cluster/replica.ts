import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const command = join(import.meta.dirname, '..', '..', 'bin', 'daybook.js')

/** What a replica does: accept messages, run turns, or both. */
export type ReplicaRole = 'web' | 'worker' | 'both'

/** A server process of the cluster. It keeps its port when it is started again. */
export interface Replica {
  readonly role: ReplicaRole
  readonly url: string
  readonly pid: number | undefined
  readonly isRunning: boolean
  /** Ends the process. With `SIGKILL`, it ends immediately. With `SIGTERM`, it first hands over its turns. Resolves when it has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  start(): Promise<void>
}

/** Starts `daybook serve` with these settings. `onLine` gets every line that it prints. */
export async function startReplica(
  role: ReplicaRole,
  environment: Readonly<Record<string, string>>,
  onLine: (line: string) => void = () => {},
): Promise<Replica> {
  let child: ChildProcess | undefined
  let url = ''

  async function start(): Promise<void> {
    const port = url === '' ? '0' : new URL(url).port
    const started = spawn(process.execPath, [command, 'serve', '--port', port, '--role', role], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    const listening = Promise.withResolvers<string>()
    started.once('exit', (code) => {
      if (child === started) child = undefined
      listening.reject(new Error(`the replica ended with code ${code}`))
    })
    for (const stream of [started.stdout, started.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        onLine(line)
        const [, address] = line.split('daybook is at ')
        if (address !== undefined) listening.resolve(address.trim())
      })
    url = await listening.promise
  }

  await start()
  return {
    role,
    get url() {
      return url
    },
    get pid() {
      return child?.pid
    },
    get isRunning() {
      return child !== undefined
    },
    async end(signal) {
      const running = child
      if (!running) return
      const ended = once(running, 'exit')
      running.kill(signal)
      const hasEnded = await Promise.race([ended.then(() => true), sleep(30_000, false, { ref: false })])
      if (!hasEnded) running.kill('SIGKILL')
      await ended
    },
    start,
  }
}
