import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorMessage } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { inheritedFds } from './inherited-fds.ts'

/** A sandbox that runs. All of its processes have ended when `ended` resolves. */
export interface SandboxProcess {
  readonly ended: Promise<ProcessEnd>
  /** The process id of the command. Undefined if it could not be started. */
  readonly pid: number | undefined
  /** The process id, on this machine, of the first process of the sandbox. Undefined until it exists. */
  firstPid(): number | undefined
  /** Asks the program to end. A program can ignore this. */
  terminate(): void
  /** Ends all processes. */
  kill(): void
}

export interface ProcessEnd {
  /** The exit code of the program, or 128 plus the number of the signal that ended it. Undefined if the program never ran or was killed. */
  readonly exitCode: number | undefined
  /** The messages of bubblewrap and of the other programs that prepare the sandbox. */
  readonly messages: string
}

/** The file descriptors that bubblewrap gets. The file descriptors of `inputs` come after them. */
export const statusFd = 3
export const firstInputFd = 4
const maxMessageBytes = 16 * 1024

/**
 * Starts the command of a sandbox. Each input is written to a file descriptor of its own, beginning with `firstInputFd`. After these, the
 * sandbox gets the file descriptors `inherited` of this process. `onOutput` gets what the program writes. bubblewrap reports the id of one
 * process. The first process of the sandbox is `processesBefore` generations below it, and each process on the way has one child.
 */
export function startProcess(
  command: readonly string[],
  inputs: readonly (string | Uint8Array)[],
  inherited: readonly number[],
  onOutput: (piece: Uint8Array) => void,
  processesBefore: number,
): SandboxProcess {
  const child = spawnClean(command, ['ignore', 'pipe', 'pipe', 'pipe', ...inputs.map(() => 'pipe' as const), ...inherited])
  const streams = child.stdio as readonly (Readable | Writable | null | undefined)[]
  let messages = ''
  let status = ''
  let startError: string | undefined
  child.on('error', (error) => {
    startError = errorMessage(error)
  })
  for (const stream of streams) stream?.on('error', ignoreBrokenPipe)
  child.stdout?.on('data', onOutput)
  child.stderr?.on('data', (piece: Buffer) => {
    if (messages.length < maxMessageBytes) messages += piece.toString()
  })
  ;(streams[statusFd] as Readable | undefined)?.on('data', (piece: Buffer) => {
    if (status.length < maxMessageBytes) status += piece.toString()
  })
  inputs.forEach((input, index) => void (streams[firstInputFd + index] as Writable | undefined)?.end(input))

  /** The id of the process that bubblewrap reports. When that process ends, the kernel ends all processes of the sandbox. */
  const reportedPid = () => statusNumber(status, 'child-pid')
  const firstPid = () => {
    let pid = reportedPid()
    for (let step = 0; step < processesBefore && pid !== undefined; step += 1) pid = childrenOf(pid)[0]
    return pid
  }
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))

  async function waitForEnd(): Promise<ProcessEnd> {
    await closed
    const pid = reportedPid()
    if (pid !== undefined) await waitUntilGone(pid)
    return { exitCode: statusNumber(status, 'exit-code'), messages: startError ?? messages.trim() }
  }

  return {
    ended: waitForEnd(),
    pid: child.pid,
    firstPid,
    terminate() {
      const pid = firstPid()
      for (const program of pid === undefined ? [] : childrenOf(pid)) signalProcess(program, 'SIGTERM')
    },
    kill() {
      const pid = reportedPid()
      const killBubblewrap = () => {
        if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) signalProcess(child.pid, 'SIGKILL')
      }
      // When the first process of a sandbox ends, the kernel ends all other processes of the sandbox, and then bubblewrap ends. As long as
      // the first process does not exist, ending bubblewrap is enough.
      if (pid === undefined) return killBubblewrap()
      signalProcess(pid, 'SIGKILL')
      const timer = setTimeout(killBubblewrap, 500)
      void closed.then(() => clearTimeout(timer))
    },
  }
}

/** Starts a process without the environment variables and open files of this process. It gets only the files in `stdio`. */
function spawnClean([file = '', ...args]: readonly string[], stdio: readonly ('ignore' | 'pipe' | number)[]): ChildProcess {
  const inherited = inheritedFds().filter((fd) => fd >= stdio.length)
  const nothing = openSync('/dev/null', 'r')
  try {
    const all: StdioOptions = Array.from({ length: Math.max(stdio.length, ...inherited.map((fd) => fd + 1)) }, (_, fd) =>
      inherited.includes(fd) ? nothing : (stdio[fd] ?? 'ignore'),
    )
    // `detached`: the program does not get signals of keys, such as Ctrl-C, in the terminal of this process.
    return spawn(file, args, { env: {}, cwd: '/', detached: true, stdio: all })
  } finally {
    closeSync(nothing)
  }
}

/** bubblewrap reports each fact as a JSON object on a line of its own. */
function statusNumber(status: string, name: string): number | undefined {
  for (const line of status.split('\n')) {
    const value = parseJson(line)
    const found = value !== null && typeof value === 'object' && name in value ? (value as Record<string, unknown>)[name] : undefined
    if (typeof found === 'number') return found
  }
  return undefined
}

/** bubblewrap may end before it has read its inputs. Its messages say why. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * bubblewrap ends when the program ends, and does not wait for processes that the program left behind. The kernel kills those processes
 * together with the first process of the sandbox. The first process is gone, or a zombie, only after all other processes are gone.
 */
async function waitUntilGone(pid: number): Promise<void> {
  const started = startTime(pid)
  for (let waitMs = 1; started !== undefined && startTime(pid) === started; waitMs = Math.min(50, waitMs * 2)) await sleep(waitMs)
}

/** When a process started. Undefined if it is gone, or is a zombie. */
function startTime(pid: number): string | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`)
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  return state === 'Z' || state === 'X' ? undefined : fields[18]
}

const childrenOf = (pid: number): readonly number[] =>
  (readProcFile(`/proc/${pid}/task/${pid}/children`) ?? '')
    .split(' ')
    .filter((text) => text !== '')
    .map(Number)

function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // the process has ended
  }
}
