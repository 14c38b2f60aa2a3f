import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './postgres.ts'

/** A Redis server that a suite has started. */
export interface RedisServer {
  readonly url: string
  /** Deletes everything that is stored in the server. */
  flush(): Promise<void>
  /** Kills the server, and starts it again without data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const onPath = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'redis-server')))

/** Whether this machine can start Redis. With CI=true, the suites fail without it. */
export const hasRedis = onPath || process.env.CI === 'true'

/** Starts a server on a free port, with its files in a temporary folder. */
export async function startRedis({ password }: { readonly password?: string } = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-redis-'))
  const port = await freePort()
  const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  const start = async () => {
    const server = spawn('redis-server', [...options, ...(password === undefined ? [] : ['--requirepass', password])], { stdio: 'ignore' })
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    for (let waited = 0; !(await accepts(port)); waited += 20) {
      if (waited > 30_000) throw new Error('Redis does not start')
      await sleep(20)
    }
    return { server, ended }
  }
  let running = await start()
  const end = async () => {
    running.server.kill('SIGKILL')
    await running.ended
  }
  return {
    url: `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`,
    flush: () => flush(port),
    async restart() {
      await end()
      running = await start()
    },
    async stop() {
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

/** Deletes everything. A server without a password accepts a command as a line of text. */
const flush = (port: number) =>
  new Promise<void>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write('FLUSHALL\r\n'))
    socket.once('error', reject)
    socket.once('data', (answer) => {
      socket.destroy()
      if (String(answer).startsWith('+OK')) resolve()
      else reject(new Error(`FLUSHALL: ${answer}`))
    })
  })
