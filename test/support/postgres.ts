import { execFile, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** A PostgreSQL server that a suite has started. */
export interface PostgresServer {
  /** The address of a database. */
  readonly url: string
  /** Creates another database, and returns its address. */
  createDatabase(): Promise<string>
  /** Starts a replica of the server, which can only be read, and returns its address. It ends with the server. */
  startReplica(): Promise<string>
  /** Kills the server without a clean shutdown, as in a crash, and starts it again after `awayMs` milliseconds. */
  restart(awayMs?: number): Promise<void>
  /** Ends the server and removes its data. */
  stop(): Promise<void>
}

const programs = '/usr/lib/postgresql'

/** The folder with the programs of the newest installed server. Undefined when no server is installed. */
function programFolder(): string | undefined {
  const versions = existsSync(programs) ? readdirSync(programs).filter((name) => existsSync(join(programs, name, 'bin', 'initdb'))) : []
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? undefined : join(programs, newest, 'bin')
}

/** Whether this machine can start PostgreSQL. With CI=true, the suites fail without it. */
export const hasPostgres = programFolder() !== undefined || process.env.CI === 'true'

/**
 * PostgreSQL refuses to run as root. If the tests run as root, the server runs as the user `postgres`, which the package of the server
 * creates.
 */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined
  const [, , uid, gid] = (/^postgres:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0] ?? '').split(':').map(Number)
  if (!uid || !gid) throw new Error('there is no user postgres')
  return { uid, gid }
}

/** A port of this machine that no program uses. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/**
 * Starts a server with an empty database in a temporary folder. With `durable: false`, a crash of the machine could lose commits. With
 * `keptIn`, the data of the server is in that folder, and the folder is kept when the server ends. A later server with the same folder uses
 * this data again.
 */
export async function startPostgres({ durable = false, keptIn }: { durable?: boolean; keptIn?: string } = {}): Promise<PostgresServer> {
  const folder = programFolder()
  if (folder === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  if (keptIn !== undefined) mkdirSync(keptIn, { recursive: true })
  const data = keptIn ?? mkdtempSync(join(tmpdir(), 'daybook-postgres-'))
  const user = serverUser()
  if (user) chownSync(data, user.uid, user.gid)
  const options = { cwd: data, ...user }
  if (!existsSync(join(data, 'db')))
    await promisify(execFile)(
      join(folder, 'initdb'),
      ['-D', join(data, 'db'), '-U', 'daybook', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'],
      options,
    )
  const port = await freePort()
  const settings = [
    ...['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${data}`, '-c', 'max_connections=400'],
    ...(durable ? [] : ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off']),
  ]
  const start = async (name = 'db', ownPort = port) => {
    const args = ['-D', join(data, name), ...settings, '-p', `${ownPort}`]
    const server = spawn(join(folder, 'postgres'), args, { ...options, stdio: 'ignore' })
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    for (let waited = 0; ; waited += 50) {
      try {
        await promisify(execFile)(join(folder, 'pg_isready'), ['-h', '127.0.0.1', '-p', `${ownPort}`])
        return { server, ended }
      } catch (error) {
        if (waited > 30_000) throw error
        await sleep(50)
      }
    }
  }
  let running = await start()
  let databases = 0
  const replicas: Awaited<ReturnType<typeof start>>[] = []
  const end = async (signal: 'SIGQUIT' | 'SIGINT' = 'SIGQUIT') => {
    running.server.kill(signal) // SIGQUIT is an immediate shutdown: the server recovers at its next start
    await running.ended
  }
  return {
    url: `postgres://daybook@127.0.0.1:${port}/postgres`,
    async createDatabase() {
      const name = `database_${++databases}`
      await promisify(execFile)(join(folder, 'createdb'), ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'daybook', name])
      return `postgres://daybook@127.0.0.1:${port}/${name}`
    },
    async startReplica() {
      const name = `replica_${replicas.length}`
      const replicaPort = await freePort()
      const from = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'daybook']
      await promisify(execFile)(join(folder, 'pg_basebackup'), [...from, '-D', join(data, name), '-R', '-c', 'fast', '-N'], options)
      replicas.push(await start(name, replicaPort))
      return `postgres://daybook@127.0.0.1:${replicaPort}/postgres`
    },
    async restart(awayMs = 0) {
      await end()
      await sleep(awayMs)
      running = await start()
    },
    async stop() {
      for (const { server, ended } of replicas) {
        server.kill('SIGQUIT')
        await ended
      }
      await end(keptIn === undefined ? 'SIGQUIT' : 'SIGINT')
      if (keptIn === undefined) rmSync(data, { recursive: true, force: true })
    },
  }
}
