import { type ChildProcess, spawn } from 'node:child_process'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { cutEnd } from '../../core/cut.ts'
import type { McpProgram } from '../../ports/mcp-configuration.ts'
import { createMessageReader } from './messages.ts'
import { watchGroup } from './watchdog.ts'

/** A transport of the MCP SDK, with the reason why it ended. */
export interface ServerTransport extends Transport {
  /** Why the connection ended without a call of `close`. Undefined while it is open, and after a call of `close`. */
  readonly ending: string | undefined
  /** The end of what the server wrote to its standard error, for the operator. */
  readonly lastWords: string
}

/** If a program has not ended this long after its input was closed, it gets SIGTERM. If it still runs after the same time, it is killed. */
const END_MS = 1_000
const MAX_LAST_WORDS = 2_000

/** The environment variables that every program gets. Other variables are not passed on, because they may contain keys. */
const passedVariables = [
  'HOME',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'USER',
  'LANG',
  'TMPDIR',
  'SystemRoot',
  'APPDATA',
  'LOCALAPPDATA',
  'TEMP',
]

/**
 * Starts a server as a child process. Daybook does not use the transport of the SDK, for three reasons: it copies a long message again for
 * each received piece, it does not limit the size of a message, and it does not end processes that the server has started.
 */
export function createProgramTransport({ command, args = [], env, cwd }: McpProgram, maxMessageBytes: number): ServerTransport {
  let child: ChildProcess | undefined
  let ending: string | undefined
  let lastWords = ''
  let closing: Promise<void> | undefined
  let endWatch = () => {}
  const exited = Promise.withResolvers<void>()

  /** Ends the server because of what it has sent. */
  function stop(reason: string): void {
    ending ??= reason
    killGroup(child, 'SIGKILL')
  }

  const transport: ServerTransport = {
    get ending() {
      return ending
    },
    get lastWords() {
      return lastWords
    },
    async start() {
      const inherited = passedVariables.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]))
      const started = spawn(command, [...args], {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...Object.fromEntries(inherited), ...env },
        ...(cwd !== undefined && { cwd }),
        detached: process.platform !== 'win32', // a process group of its own, which is ended as a whole
        windowsHide: true,
      })
      child = started
      // the SDK checks the message
      const read = createMessageReader(maxMessageBytes, (message) => transport.onmessage?.(message as JSONRPCMessage))
      started.stdout.on('data', (piece: Buffer) => {
        if (ending !== undefined) return
        try {
          read(piece)
        } catch (error) {
          stop(`it was stopped, because ${error instanceof Error ? error.message : String(error)}`)
        }
      })
      started.stderr.on('data', (piece: Buffer) => {
        lastWords = cutEnd(lastWords + piece.subarray(-MAX_LAST_WORDS).toString(), MAX_LAST_WORDS)
      })
      // Errors of the streams are ignored. The exit of the process is reported, and tells more about the cause.
      for (const stream of [started.stdin, started.stdout, started.stderr]) stream.on('error', () => {})
      const spawned = Promise.withResolvers<void>()
      started.once('spawn', () => {
        running.add(started)
        if (started.pid !== undefined) endWatch = watchGroup(started.pid)
        spawned.resolve()
      })
      started.once('error', (error) => {
        spawned.reject(error)
        exited.resolve()
      })
      started.once('exit', (code, signal) => {
        ending ??= code === null ? `it was ended by ${signal}` : `it ended with the exit code ${code}`
        killGroup(started, 'SIGKILL') // processes that the server has left behind
        running.delete(started)
        endWatch()
        exited.resolve()
        // without this, a process in another group that keeps the output open would delay `close` forever
        setTimeout(() => started.stdout.destroy(), END_MS).unref()
      })
      // `close` comes after the exit, when all output was read: the output may still contain answers
      started.once('close', () => transport.onclose?.())
      await spawned.promise
    },
    async send(message) {
      if (!child?.stdin?.writable) throw new Error('the server is not running')
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()))
      await promise
    },
    close() {
      closing ??= endProgram(child, exited.promise)
      return closing
    },
  }
  return transport
}

/** Ends a program: closes its input, then asks it to end, then kills it. */
async function endProgram(child: ChildProcess | undefined, exited: Promise<void>): Promise<void> {
  if (!child?.pid) return
  child.stdin?.end()
  if (await isWithin(exited, END_MS)) return
  killGroup(child, 'SIGTERM')
  if (await isWithin(exited, END_MS)) return
  killGroup(child, 'SIGKILL')
  await exited
}

async function isWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(() => resolve(false), ms)
  const first = await Promise.race([promise.then(() => true), late])
  clearTimeout(timer)
  return first
}

/** Sends a signal to a program and to all processes that it has started. */
function killGroup(child: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (!child?.pid) return
  try {
    if (process.platform === 'win32') child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // the group has ended
  }
}

/** The programs that run now. They are killed when this process exits without closing its agents. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL')
})
