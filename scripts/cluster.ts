// Starts PostgreSQL and three replicas of Daybook on this machine, behind one address, to try out what happens when one of them is killed.
//
//   npm run cluster                      starts the cluster; Ctrl-C ends it, and nothing is left behind
//   npm run cluster -- --s3              files are stored in a server that is compatible with S3
//   npm run cluster -- --redis           live text between replicas goes over Redis
//   npm run cluster -- --roles web,worker,worker    one replica for each role, instead of three with both
//   npm run cluster -- kill 2            in another terminal: kills replica 2 (SIGKILL), and starts it again after a few seconds
//   npm run cluster -- restart           in another terminal: restarts all replicas, one after the other

import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Cluster, startCluster } from './cluster/cluster.ts'
import type { ReplicaRole } from './cluster/replica.ts'

/** Where the commands `kill` and `restart` find the running cluster. */
const controlFile = join(tmpdir(), `daybook-cluster-${userInfo().uid}.json`)
/** How long after a kill the replica is started again. */
const AWAY_MS = 3_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string', default: '8080' },
    replicas: { type: 'string', default: '3' },
    roles: { type: 'string' },
    s3: { type: 'boolean', default: false },
    redis: { type: 'boolean', default: false },
  },
})
const [word, number] = positionals
if (word === undefined) await run()
else await tell(word, number)

async function run(): Promise<void> {
  const roles = rolesOf(values.roles ?? Array(Number(values.replicas)).fill('both').join(','))
  if (!roles) {
    console.error('--roles is a list such as web,worker,both. At least one replica has to accept messages, and one to run turns.')
    process.exitCode = 1
    return
  }
  // if a signal arrives while the replicas start, they are ended when all of them have started, so that no replica keeps running
  const ended = Promise.withResolvers<void>()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ended.resolve())
  console.log('starting PostgreSQL and the replicas …')
  const cluster = await startCluster({ roles, port: Number(values.port), s3: values.s3, redis: values.redis })
  const closeControl = await listenForCommands(cluster)
  console.log(`\ndaybook is at ${cluster.url} (each request goes to another replica)`)
  for (const [index, { url, role, pid }] of cluster.replicas.entries())
    console.log(`  replica ${index + 1}  ${url}  ${role.padEnd(6)}  pid ${pid}`)
  console.log(`
Open the page, ask for something long, and kill a replica meanwhile: the answer continues.
  ${process.stdin.isTTY ? 'press 1, 2, …                  kills this replica; it is started again after 3 seconds\n  press r                        restarts all replicas, one after the other\n  ' : ''}npm run cluster -- kill 1      does the same from another terminal
  npm run cluster -- restart     restarts all replicas, one after the other
  Ctrl-C                         ends everything and removes the data`)

  if (process.stdin.isTTY) {
    process.stdin.setRawMode(true)
    process.stdin.on('data', (keys) => {
      for (const key of String(keys)) {
        if (key === '\u0003' || key === 'q') ended.resolve()
        else void obey(cluster, key === 'r' ? 'restart' : 'kill', key).then((answer) => answer !== '' && console.log(answer))
      }
    })
  }
  await ended.promise
  console.log('ending the replicas and PostgreSQL …')
  await closeControl()
  await cluster.stop()
  process.exit(0)
}

/** Reads a list of roles. Returns undefined if no replica would accept messages, or if none would run turns. */
function rolesOf(text: string): readonly ReplicaRole[] | undefined {
  const roles = text.split(',')
  if (!roles.every((role) => role === 'web' || role === 'worker' || role === 'both')) return undefined
  return roles.some((role) => role !== 'worker') && roles.some((role) => role !== 'web') ? roles : undefined
}

/** Carries out a command. Returns what to print. */
async function obey(cluster: Cluster, command: string, argument: string): Promise<string> {
  if (command === 'restart') {
    for (const [index, replica] of cluster.replicas.entries()) {
      await replica.end('SIGTERM')
      await replica.start()
      console.log(`replica ${index + 1} was restarted, pid ${replica.pid}`)
    }
    return 'all replicas were restarted'
  }
  const replica = cluster.replicas[Number(argument) - 1]
  if (command !== 'kill' || !replica) return ''
  if (!replica.isRunning) return `replica ${argument} does not run now`
  const { pid } = replica
  await replica.end('SIGKILL')
  void sleep(AWAY_MS).then(async () => {
    await replica.start()
    console.log(`replica ${argument} is back, pid ${replica.pid}`)
  })
  return `replica ${argument} was killed, pid ${pid}`
}

/** Opens a port for commands from other terminals. Its address is in a file that only the user who started the cluster can read. */
async function listenForCommands(cluster: Cluster): Promise<() => Promise<void>> {
  const token = randomBytes(16).toString('hex')
  const server = createServer((request, response) => {
    const [, given, command = '', argument = ''] = (request.url ?? '').split('/')
    if (given !== token || request.method !== 'POST') return response.writeHead(404).end()
    void obey(cluster, command, argument).then((answer) => {
      console.log(answer)
      response.end(answer === '' ? `there is no replica ${argument}` : answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  writeFileSync(controlFile, JSON.stringify({ url: `http://127.0.0.1:${port}/${token}` }), { mode: 0o600 })
  return async () => {
    rmSync(controlFile, { force: true })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Sends a command to the running cluster. */
async function tell(command: string, argument = ''): Promise<void> {
  if (!['kill', 'restart'].includes(command) || (command === 'kill' && !(Number(argument) > 0))) {
    console.error(
      'usage: npm run cluster [-- --s3] [--redis] [--replicas 3] [--roles web,worker,both] [--port 8080], or: npm run cluster -- kill 1, or: npm run cluster -- restart',
    )
    process.exitCode = 1
    return
  }
  try {
    const { url } = JSON.parse(readFileSync(controlFile, 'utf8')) as { url: string }
    const response = await fetch(`${url}/${command}/${argument}`, { method: 'POST' })
    console.log(await response.text())
  } catch {
    console.error('no cluster is running: start one with npm run cluster')
    process.exitCode = 1
  }
}
