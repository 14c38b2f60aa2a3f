import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'
import type { ProgramEnd } from '../../src/ports/sandbox.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { othersCanRead } from './host-state.ts'

// Programs that try to break out of the sandbox, each of them a real one. They run as the user of this test, and also as an ordinary user if
// this test runs as root. The results are printed as a table.

interface AttemptResult {
  readonly name: string
  readonly expected: { readonly limit?: string; readonly signal?: string }
  readonly end: ProgramEnd
  readonly log: string
  readonly logLength: number
  readonly leaked: boolean
  readonly historyKept: boolean
  readonly wrongFiles: readonly string[]
}
interface HostState {
  readonly unchanged: boolean
  readonly left: readonly string[]
  readonly processes: readonly string[]
  readonly mounts: readonly string[]
}

const found = await findSandbox()
const isRoot = process.getuid?.() === 0
/** A user that this machine does not have. */
const ordinaryUser = 61_000 + (process.pid % 4_000)

describe.skipIf(found.sandbox === undefined)('programs that try to break out', () => {
  it(`are stopped, as ${isRoot ? 'root' : 'an ordinary user'}`, { timeout: 600_000 }, (test) => expectAllStopped(test, undefined))
  it.runIf(isRoot && othersCanRead('package.json'))('are stopped, as an ordinary user that root started', { timeout: 600_000 }, (test) =>
    expectAllStopped(test, ordinaryUser),
  )
})

async function expectAllStopped(test: Parameters<typeof countAttempts>[0], user: number | undefined): Promise<void> {
  const { attempts, host } = await runAttempts(user)
  countAttempts(test, user === undefined ? attempts.length : 0) // the same attempts of another user count once
  console.log(attempts.map(showResult).join('\n'))
  expect(attempts.length).toBeGreaterThan(100)
  expect(attempts.filter((attempt) => !isStopped(attempt))).toEqual([])
  expect(attempts.filter(({ leaked, historyKept, wrongFiles }) => leaked || !historyKept || wrongFiles.length > 0)).toEqual([])
  expect(host).toEqual({ unchanged: true, left: [], processes: [], mounts: [] })
}

/** An ordinary result: the program ended, by itself or at a limit, and nothing that it tried has worked. */
function isStopped({ end, expected: { limit, signal }, log, logLength }: AttemptResult): boolean {
  if (log.includes('ESCAPED') || logLength > 300_000) return false
  if (limit !== undefined) return end.kind === 'limit' && end.limit === limit
  if (signal !== undefined) return end.kind === 'killed' && end.signal === signal
  return end.kind === 'exited' && log.includes('stopped')
}

function showResult({ name, end, log }: AttemptResult): string {
  const how =
    end.kind === 'limit' ? end.limit : end.kind === 'killed' ? end.signal : (log.split('\n').find((line) => line.includes('stopped')) ?? '')
  return `${name.padEnd(56)} ${end.kind.padEnd(8)} ${how.slice(0, 80)}`
}

/** Runs the attempts in a process with a secret in its variables and in files that it has open. */
async function runAttempts(user: number | undefined): Promise<{ attempts: readonly AttemptResult[]; host: HostState | undefined }> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-escape-'))
  const secret = randomBytes(12).toString('hex')
  const secretFile = `${folder}-secret`
  writeFileSync(secretFile, secret)
  const file = openSync(secretFile, 'r')
  if (user !== undefined) chownSync(folder, user, user)
  try {
    const lines = await outputOf(secret, folder, file, user)
    const results = lines.map((line) => JSON.parse(line) as AttemptResult & { host?: HostState })
    return { attempts: results.filter(({ host }) => host === undefined), host: results.find(({ host }) => host)?.host }
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true, force: true })
    rmSync(secretFile)
  }
}

function outputOf(secret: string, folder: string, secretFile: number, user: number | undefined): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
  const child = spawn(process.execPath, ['test/sandbox/run-attempts.ts'], {
    env: { PATH: process.env.PATH, TMPDIR: folder, DAYBOOK_SECRET: secret },
    // The new process inherits the file with the secret under two numbers. Node closes only the first ones for its own children.
    stdio: Array.from({ length: 41 }, (_, fd) => (fd === 1 || fd === 2 ? 'pipe' : fd === 5 || fd === 40 ? secretFile : 'ignore')),
    ...(user !== undefined && { uid: user, gid: user }),
  })
  let output = ''
  let errors = ''
  child.stdout?.on('data', (piece) => {
    output += piece
  })
  child.stderr?.on('data', (piece) => {
    errors += piece
  })
  child.on('error', reject)
  child.on('close', (code) =>
    code === 0 ? resolve(output.trim().split('\n')) : reject(new Error(`run-attempts ended with ${code}: ${errors}`)),
  )
  return promise
}
