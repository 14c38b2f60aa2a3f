import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DATABASE_VARIABLE } from '../stores.ts'

/** A server process that shares a database with others. It keeps its port. */
export interface ReplicaProcess {
  readonly url: string
  /** Kills the process (SIGKILL), and starts a new one. */
  restart(): Promise<void>
  /** Ends the process with SIGTERM, so that it hands over its turns, and starts a new one. */
  replace(): Promise<void>
  /** Sends a signal to the process, such as `SIGSTOP`. */
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

const script = join(import.meta.dirname, 'replica-server.ts')

/** Starts a replica. Replicas with the same folder share tables of the database. The model waits `delayMs` before each response. */
export async function startReplicaProcess(folder: string, database: string, delayMs: number): Promise<ReplicaProcess> {
  const start = async (port: string): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
    const child = fork(script, [folder, port, String(delayMs)], { env: { ...process.env, [DATABASE_VARIABLE]: database } })
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    return { child, url }
  }
  let { child, url } = await start('0')
  const { port } = new URL(url)
  const end = async (signal: NodeJS.Signals) => {
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  return {
    get url() {
      return url
    },
    async restart() {
      await end('SIGKILL')
      ;({ child, url } = await start(port))
    },
    async replace() {
      await end('SIGTERM')
      ;({ child, url } = await start(port))
    },
    signal: (name) => void child.kill(name),
    stop: () => end('SIGKILL'),
  }
}
