import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TorturePlace } from './place.ts'
import type { ChildMessage, ParentMessage, Task, TaskResult } from './tasks.ts'

/** A child process that works on one task. */
export interface TortureProcess {
  readonly name: string
  /** Lets the child begin. Until then it only opens its store. */
  begin(): void
  /** Resolves when the child has made this many steps, or has ended. */
  steps(count: number): Promise<void>
  readonly held: Promise<void>
  readonly done: Promise<TaskResult>
  send(message: ParentMessage): void
  /** Stops the process in the middle of its work (SIGSTOP). */
  freeze(): Promise<void>
  wake(): void
  /** Kills the process (SIGKILL). */
  kill(): Promise<void>
  /** Lets the process close its store and end. */
  end(): Promise<void>
}

/** How long a child may take for one piece of work. The time is long, so that a correct store does not fail on a loaded machine. */
export const PATIENCE_MS = 300_000

const running = new Set<ChildProcess>()

/** Kills all children, so that a scenario leaves no processes, even if it fails. */
export async function killAll(): Promise<void> {
  await Promise.all(
    [...running].map((child) => {
      child.kill('SIGKILL')
      return new Promise((resolve) =>
        child.exitCode === null && child.signalCode === null ? child.once('exit', resolve) : resolve(undefined),
      )
    }),
  )
}

/**
 * The program of the children. In the package, this module may be part of a chunk, so the path is computed from the folder of the package.
 */
function childScript(): string {
  const folder = dirname(createRequire(import.meta.url).resolve('daybook/package.json'))
  const source = join(folder, 'src/testing/torture/child.ts')
  return existsSync(source) ? source : join(folder, 'dist/testing/torture/child.js')
}

let started = 0

/** Starts a child and waits until its store is open. */
export async function startProcess(place: TorturePlace, task: Task): Promise<TortureProcess> {
  const name = `${task.do}-${++started}`
  const child = fork(childScript(), [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] })
  running.add(child)
  child.send({ place, task, name }, () => {})
  const [ready, held, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<TaskResult>()]
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // a killed child does not answer, so these promises may reject while nothing awaits them
  for (const { promise } of [ready, held, done]) promise.catch(() => {})
  let steps = 0
  let waiting: { readonly count: number; readonly resolve: () => void }[] = []
  let errors = ''
  let isEnding = false
  const resolveWaiting = (ended: boolean) => {
    for (const { count, resolve } of waiting) if (ended || steps >= count) resolve()
    waiting = waiting.filter(({ count }) => !ended && steps < count)
  }
  child.stderr?.on('data', (bytes: Buffer) => {
    errors = `${errors}${bytes}`.slice(-4_000)
  })
  child.on('message', (message: ChildMessage) => {
    if (message.say === 'ready') ready.resolve()
    else if (message.say === 'held') held.resolve()
    else if (message.say === 'done') done.resolve(message.result)
    else {
      steps++
      resolveWaiting(false)
    }
  })
  child.once('error', () => {}) // ignores a failed `send` to a child that has ended
  void exited.then(() => {
    running.delete(child)
    resolveWaiting(true)
    const lines = errors.trim().split('\n')
    const reason = lines.find((line) => /Error|Failure/.test(line)) ?? lines.at(-1) ?? ''
    const error = new Error(isEnding ? 'the process was ended' : `a process (${task.do}) ended by itself: ${reason.trim()}`)
    for (const { reject } of [ready, held, done]) reject(error)
  })
  const send = (message: ParentMessage) => {
    if (child.connected) child.send(message, () => {})
  }
  await within(ready.promise, `a process (${task.do}) did not open its store`)
  return {
    name,
    begin: () => send('begin'),
    steps: (count) =>
      within(
        new Promise<void>((resolve) => {
          if (steps >= count || child.exitCode !== null || child.signalCode !== null) resolve()
          else waiting.push({ count, resolve })
        }),
        `a process (${task.do}) made no progress`,
      ),
    get held() {
      return within(held.promise, 'not all turns reached the commit at which they are held')
    },
    get done() {
      return within(done.promise, `a process (${task.do}) did not end its work`)
    },
    send,
    async freeze() {
      child.kill('SIGSTOP')
      while (!isStopped(child.pid)) await sleep(5)
    },
    wake: () => void child.kill('SIGCONT'),
    async kill() {
      isEnding = true
      child.kill('SIGKILL')
      await exited
    },
    async end() {
      isEnding = true
      send('end')
      await within(exited, `a process (${task.do}) did not end`)
    },
  }
}

/** Rejects when the promise takes too long. The rejection is marked as handled, because a scenario may end before it awaits the result. */
export function within<T>(promise: Promise<T>, problem: string, ms = PATIENCE_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${problem} within ${ms / 1000} seconds`)), ms)
  const first = Promise.race([promise, late]).finally(() => clearTimeout(timer))
  first.catch(() => {})
  return first
}

/** Whether the kernel has stopped a process. Only Linux reports this. On other systems, returns true for every process. */
function isStopped(pid: number | undefined): boolean {
  const file = `/proc/${pid}/stat`
  if (process.platform !== 'linux' || !existsSync(file)) return true
  const text = readFileSync(file, 'utf8')
  return /^[TtXZ]/.test(text.slice(text.lastIndexOf(')') + 2))
}
