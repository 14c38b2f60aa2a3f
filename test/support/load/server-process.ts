import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerSettings } from '../../../src/server/settings.ts'
import { DATABASE_VARIABLE, testDatabase } from '../stores.ts'

/** A server process that can be killed, frozen and replaced. It keeps its port. */
export interface ServerProcess {
  readonly url: string
  readonly role: ServerSettings['role']
  readonly pid: number
  /** Kills the process (SIGKILL), and starts a new one. */
  restart(): Promise<void>
  /** Ends the process with SIGTERM, so that it hands over its turns, and starts a new one. */
  replace(): Promise<void>
  /** Sends a signal to the process, such as `SIGSTOP`. */
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

/** What a server of a test does. */
export interface ServerChoices {
  /** The address of a PostgreSQL database. By default the address of the database of the run, if the run uses PostgreSQL. */
  readonly database?: string | undefined
  /** The address of a Redis server, which carries live events. Only with a PostgreSQL database. */
  readonly redis?: string | undefined
  readonly role?: ServerSettings['role']
  /** How many conversations the server runs at the same time. */
  readonly conversations?: number
  /** How long the model takes for each response. */
  readonly delayMs?: number
  /** Limits of a user. By default there are no limits, because in local mode all clients are one user. */
  readonly limits?: Partial<Pick<ServerSettings, 'requestsPerMinute' | 'turnsPerMinute' | 'runningTurns'>>
  /** If it is set, the clock of the server can be moved with `advanceClock`. */
  readonly movableClock?: boolean
  /** If it is set, each call of the model adds a line to the file `calls`: the time and the step. */
  readonly recordCalls?: boolean
}

const script = join(import.meta.dirname, 'load-server.ts')

/** Starts a server. Servers with the same folder share an SQLite file there, or tables of the database. */
export async function startServerProcess(folder: string, choices: ServerChoices = {}): Promise<ServerProcess> {
  const { database = testDatabase(), role = 'both' } = choices
  const start = async (port: string): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
    const env = { ...process.env, ...(database !== undefined && { [DATABASE_VARIABLE]: database }) }
    const child = fork(script, [folder, port, JSON.stringify(choices)], { env })
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server did not start: it ended with ${code}`)))
    const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }]
    ended.catch(() => {}) // the process ends later, and nothing awaits this promise yet
    return { child, url }
  }
  let { child, url } = await start('0')
  const { port } = new URL(url)
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  const endAndStart = async (signal: NodeJS.Signals) => {
    await end(signal)
    ;({ child, url } = await startAgain(() => start(port)))
  }
  return {
    get url() {
      return url
    },
    role,
    get pid() {
      return child.pid ?? 0
    },
    restart: () => endAndStart('SIGKILL'),
    replace: () => endAndStart('SIGTERM'),
    signal: (name) => void child.kill(name),
    stop: () => end('SIGKILL'),
  }
}

const MAX_STARTS = 5

/** Starts a process, and tries again if this fails, as a supervisor would do. On a loaded machine, the database may answer too late. */
async function startAgain<T>(start: () => Promise<T>): Promise<T> {
  for (let starts = 1; ; starts++) {
    try {
      return await start()
    } catch (error) {
      if (starts === MAX_STARTS) throw error
      await sleep(500)
    }
  }
}
