// Runs all attempts to break out, and prints one JSON line for each of them and one about the state of the machine afterwards. It is a
// process of its own, so that it can run as another user, with a secret in its variables and in its open files.

import { readdirSync, readFileSync, type Stats, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identityOf } from '../../src/adapters/sandbox/identity.ts'
import { createBubblewrapSandbox, findSandbox } from '../../src/adapters/sandbox/index.ts'
import { walkFolder } from '../../src/adapters/sandbox/walk.ts'
import { openSandboxFixture, type SandboxFixture } from '../../src/testing/conformance/sandbox-programs.ts'
import type { Attempt, HostFacts } from './attempt.ts'
import { fileAttempts } from './attempts-files.ts'
import { kernelAttempts } from './attempts-kernel.ts'
import { networkAttempts } from './attempts-network.ts'
import { resourceAttempts } from './attempts-resources.ts'
import { mountsBelow, processesOf, waitFor } from './host-state.ts'

const MiB = 1024 * 1024
const concurrency = 4
const secret = process.env.DAYBOOK_SECRET ?? ''

const found = await findSandbox()
if (!found.sandbox) throw new Error(found.reason)
const sandbox = createBubblewrapSandbox({
  languages: found.sandbox.languages,
  limits: { memoryBytes: 512 * MiB, processes: 40, fileBytes: 8 * MiB, newBytes: 30 * MiB, newFiles: 500 },
  cpuSeconds: 3,
  graceMs: 500,
})
const uids = new Set<number>([process.getuid?.() ?? 0])

const secretFile = join(tmpdir(), 'secret.txt')
writeFileSync(secretFile, secret)
const tcp = createServer((connection) => connection.on('error', () => {}).end(secret)).listen(0, '127.0.0.1')
const abstractSocket = `daybook-${secret}`
const local = createServer((connection) => connection.on('error', () => {}).end(secret)).listen(`\0${abstractSocket}`)
await Promise.all(
  [tcp, local].map((server) => new Promise((resolve) => (server.listening ? resolve(0) : server.once('listening', resolve)))),
)

const sibling = await openSandboxFixture(sandbox)
const endSibling = new AbortController()
const siblingRun = sibling.run('python', 'import time\ntime.sleep(600)', { signal: endSibling.signal, timeoutSeconds: 600 })
const runFolder = await waitFor(() => readdirSync(tmpdir()).find((name) => name.startsWith('daybook-run-')))

const facts: HostFacts = {
  secret,
  secretFile,
  pid: process.pid,
  port: (tcp.address() as { port: number }).port,
  abstractSocket,
  siblingSocket: join(tmpdir(), runFolder ?? 'missing', 'requests.sock'),
}
const attempts = [fileAttempts, networkAttempts, kernelAttempts, resourceAttempts].flatMap((list) => list(facts))
const waiting = [...attempts]
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) console.log(JSON.stringify(await run(next)))
  }),
)

endSibling.abort()
await siblingRun
await sibling.remove()
tcp.close()
local.close()
const unchanged = readFileSync(secretFile, 'utf8') === secret
const left = readdirSync(tmpdir()).filter((name) => name !== 'secret.txt')
await waitFor(() => (processesOf(uids).length === 0 ? true : undefined), 10_000) // the machine removes ended processes a little later
console.log(JSON.stringify({ host: { unchanged, left, processes: processesOf(uids), mounts: mountsBelow(tmpdir()) } }))

async function run(attempt: Attempt) {
  const fixture = await openSandboxFixture(sandbox)
  const identity = identityOf(fixture.folders.work)
  if (identity) uids.add(identity.uid)
  await fixture.write('out/turn_1/files/a.txt', 'earlier')
  const context = { 'timeline.json': await fixture.write('timeline.json', '{"blocks":[]}') }
  const report = await fixture.run(attempt.language ?? 'python', attempt.code, {
    folders: { ...fixture.folders, context },
    answer: async () => null,
    ...attempt.options,
  })
  const result = {
    name: attempt.name,
    expected: { limit: attempt.limit, signal: attempt.signal },
    end: report.end,
    durationMs: report.durationMs,
    log: report.log.slice(0, 400),
    logLength: report.log.length,
    leaked: secret !== '' && report.log.includes(secret),
    historyKept: (await fixture.read('out/turn_1/files/a.txt')) === 'earlier' && (await fixture.read('timeline.json')) === '{"blocks":[]}',
    wrongFiles: await wrongFiles(fixture),
  }
  await fixture.remove()
  return result
}

/** Entries that still change, or that this process does not own or can not read. */
async function wrongFiles({ folder }: SandboxFixture): Promise<readonly string[]> {
  const look = async () => {
    const lines: string[] = []
    const visit = (path: Buffer, { uid, mode, size, mtimeMs, ...stats }: Stats) => {
      const plain = (mode & 0o170000) === 0o100000 || (mode & 0o170000) === 0o40000
      const strange = uid !== process.getuid?.() || (plain && ((mode & 0o6000) !== 0 || (mode & 0o600) !== 0o600))
      lines.push(`${stats.ino} ${size} ${mtimeMs}${strange ? ` STRANGE ${path} ${uid} ${mode.toString(8)}` : ''}`)
    }
    await walkFolder(folder, { depthLimit: 1_000, visit })
    return lines
  }
  const first = await look()
  await new Promise((resolve) => setTimeout(resolve, 100))
  const second = await look()
  return [...second.filter((line) => line.includes('STRANGE')), ...second.filter((line, index) => line !== first[index])]
}
