import { spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, serverUser } from './postgres.ts'

const program = '/usr/sbin/pgbouncer'

/** Whether this machine can start PgBouncer. With CI=true, the suites fail without it. */
export const hasPgBouncer = existsSync(program) || process.env.CI === 'true'

/** Settings of PgBouncer that a suite chooses. */
export interface PoolerOptions {
  /** When a connection to the server may be given to another client: after a session, a transaction or a statement. */
  readonly mode: 'session' | 'transaction' | 'statement'
  /** How many connections to the server there are. */
  readonly size?: number
  /** Lines such as `ignore_startup_parameters = options`. */
  readonly settings?: readonly string[]
}

/** Starts PgBouncer in front of the server with this address. */
export async function startPgBouncer(
  server: string,
  { mode, size = 5, settings = [] }: PoolerOptions,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { hostname, port: serverPort, username } = new URL(server)
  const folder = mkdtempSync(join(tmpdir(), 'daybook-pgbouncer-'))
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const lines = [
    ...['[databases]', `* = host=${hostname} port=${serverPort} user=${username}`, '[pgbouncer]', 'auth_type = any'],
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', `pool_mode = ${mode}`, `default_pool_size = ${size}`],
    ...['max_client_conn = 500', ...settings, ''],
  ]
  writeFileSync(file, lines.join('\n'))
  const user = serverUser() // PgBouncer does not run as root
  if (user) for (const path of [folder, file]) chownSync(path, user.uid, user.gid)
  const pooler = spawn(program, ['-q', file], { cwd: folder, stdio: 'ignore', ...user })
  const ended = new Promise<void>((resolve) => pooler.once('exit', () => resolve()))
  for (let waited = 0; !(await isListening(port)); waited += 20) {
    if (waited > 30_000 || pooler.exitCode !== null) throw new Error('PgBouncer does not start')
    await sleep(20)
  }
  return {
    url: Object.assign(new URL(server), { port: String(port) }).href,
    async stop() {
      pooler.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
