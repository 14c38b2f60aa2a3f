import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A server in its own process. */
export interface ServerProcess {
  readonly child: ChildProcess
  readonly exited: Promise<[code: number | null, signal: string | null]>
  readonly url: string
  readonly port: number
}

export interface ServerProcessOptions {
  readonly port?: number
  readonly drainMs?: number
  /** How long the model takes for each piece of a response. */
  readonly delayMs?: number
  /** How far the clock of the process is ahead. For this process, the leases of other processes then expire earlier. */
  readonly aheadMs?: number
}

const folders: string[] = []
const children: ChildProcess[] = []

/** Kills all server processes and removes their folders. Call it after each test. */
export async function stopServers(): Promise<void> {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

export function newServerFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-serve-'))
  folders.push(folder)
  return folder
}

/** Starts a server whose model is `stepModel`. Several servers may use the same folder. */
export function startServer(folder: string, options: ServerProcessOptions = {}): Promise<ServerProcess> {
  const { port = 0, drainMs = 10_000, delayMs = 5, aheadMs = 0 } = options
  const script = join(import.meta.dirname, 'serve-child.ts')
  return untilListening([script, folder, ...[port, drainMs, delayMs, aheadMs].map(String)], /^listening (.*)$/)
}

/** Starts `daybook serve` with the offline model. */
export const startCommandServer = (folder: string): Promise<ServerProcess> =>
  untilListening([daybook, 'serve', '--data', folder, '--port', '0', '--model', 'offline'], /^daybook is at (http:\S+)$/)

/** Runs a `daybook` command in its own process and returns what it printed on its standard output. */
export async function runDaybook(...args: readonly string[]): Promise<string> {
  const { code, output } = await tryDaybook(...args)
  if (code !== 0) throw new Error(`daybook ${args.join(' ')} ended with ${code}`)
  return output
}

/** Runs a `daybook` command in its own process and returns its exit code and what it printed on its standard output. */
export const tryDaybook = (...args: readonly string[]) => pipeToDaybook('', ...args)

/** Does the same as `tryDaybook`, and writes `input` to the standard input of the command. */
export async function pipeToDaybook(
  input: string,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [daybook, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  child.stdin.end(input)
  const exited = once(child, 'exit')
  let output = ''
  for await (const chunk of child.stdout) output += chunk
  const [code] = (await exited) as [number | null]
  return { code, output }
}

const daybook = join(import.meta.dirname, '../../../bin/daybook.js')

async function untilListening(args: readonly string[], line: RegExp): Promise<ServerProcess> {
  const env = { ...process.env, DAYBOOK_LOG_LEVEL: 'error' }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const exited = once(child, 'exit') as ServerProcess['exited']
  for await (const text of createInterface({ input: child.stdout })) {
    const [, url] = line.exec(text) ?? []
    if (url === undefined) continue
    child.stdout.resume()
    return { child, exited, url, port: Number(new URL(url).port) }
  }
  throw new Error('the server never listened')
}
