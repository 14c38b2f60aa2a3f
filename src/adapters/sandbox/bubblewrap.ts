import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ProgramEnd, Sandbox, SandboxLanguage, SandboxLimits, SandboxProgram, SandboxReport } from '../../ports/sandbox.ts'
import { findCgroups, openCgroup } from './cgroups.ts'
import { checkProgram } from './check-program.ts'
import { processesBefore, sandboxCommand } from './command.ts'
import { endOf } from './end.ts'
import { prepareFolders } from './folders.ts'
import { identityOf } from './identity.ts'
import { inside, mountsOfRun, systemArguments } from './layout.ts'
import { createOutputLog } from './log.ts'
import { firstInputFd, type SandboxProcess, startProcess, statusFd } from './process.ts'
import { serveRequests } from './requests.ts'
import { hasFilter, seccompFilter } from './seccomp/filter.ts'
import { watchProgram } from './watch.ts'

/** The languages and the limits of programs in a sandbox. */
export interface BubblewrapOptions {
  /** The languages in which programs can be written. `findSandbox` finds them. */
  readonly languages: readonly SandboxLanguage[]
  /** Limits that differ from `defaultLimits`. */
  readonly limits?: Partial<SandboxLimits>
  /** How many seconds of processor time each process of a program may use. 600 by default. */
  readonly cpuSeconds?: number
  /** If the folders that a program can write to contain more bytes than this together, the program is not started. 2 GiB by default. */
  readonly workspaceBytes?: number
  /** How long a program may take to end by itself after its time limit, before it is killed. 5,000 by default. */
  readonly graceMs?: number
}

const MiB = 1024 * 1024

/** The limits of `createBubblewrapSandbox` if its options contain no other limits. */
export const defaultLimits: SandboxLimits = {
  defaultSeconds: 600,
  maxSeconds: 1_800,
  memoryBytes: 2_048 * MiB,
  processes: 64,
  fileBytes: 100 * MiB,
  newBytes: 250 * MiB,
  newFiles: 10_000,
  logBytes: 256 * 1024,
}

/** The folder with the loaders of the languages. It is part of the package and is not compiled. */
const guestFolder = () => join(dirname(createRequire(import.meta.url).resolve('daybook/package.json')), 'src/adapters/sandbox/guest')

/** The file that loads the programs of a language. */
export const loaderFile = (id: SandboxLanguage['id']): string =>
  join(guestFolder(), id === 'python' ? 'python/loader.py' : 'javascript/loader.mjs')

/** Debian's Python. The `python3` in `PATH` may belong to a version manager and be in a folder that programs in the sandbox do not see. */
export const pythonPath = '/usr/bin/python3'

const runLoader = `exec(open("${inside.guest}/python/loader.py", "rb").read())`

interface Interpreter {
  readonly command: readonly string[]
  /** Memory that the interpreter reserves when it starts, and does not use. */
  readonly reservedBytes: number
}

function interpreterOf(id: SandboxLanguage['id'], { memoryBytes }: SandboxLimits): Interpreter {
  switch (id) {
    case 'python':
      // `-I`: no variables and no folders of a user change what Python loads. `-S`: the loader prepares packages only if a program needs
      // them. `-u`: output is not buffered, so that no output is lost when a program is ended. `-c`: the loader is passed as a text,
      // because for a file, Python would first check whether it is an archive with modules, which takes time.
      return { command: [pythonPath, '-I', '-S', '-u', '-B', '-c', runLoader], reservedBytes: 0 }
    case 'javascript': {
      const heap = `--max-old-space-size=${Math.round((memoryBytes * 0.75) / MiB)}`
      return {
        command: [inside.node, heap, '--import', `${inside.guest}/javascript/loader.mjs`, inside.program.javascript],
        reservedBytes: 1_024 * MiB, // Node reserves 512 MiB for machine code, and more for each worker
      }
    }
  }
}

const environment: Readonly<Record<string, string>> = {
  PATH: '/usr/bin:/bin',
  HOME: '/tmp',
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  OUTPUT_DIR: inside.out,
  OUT_DIR: inside.out,
  WORKDIR: inside.work,
  CONTEXT_DIR: inside.context,
  MPLBACKEND: 'Agg', // there is no screen
  MPLCONFIGDIR: '/tmp/matplotlib',
}

/**
 * A sandbox of Linux namespaces that bubblewrap makes. Programs have no network, an unprivileged user without capabilities, a read-only
 * system, and their own processes, `/tmp` and `/proc`. It needs bubblewrap, util-linux and a kernel that lets users make user namespaces.
 * `findSandbox` checks this.
 */
export function createBubblewrapSandbox(options: BubblewrapOptions): Sandbox {
  const limits = { ...defaultLimits, ...options.limits }
  const { languages, cpuSeconds = 600, workspaceBytes = 2_048 * MiB, graceMs = 5_000 } = options
  if (!hasFilter(process.arch)) throw new Error(`there is no filter of system calls for the processor ${process.arch}`)
  const filter = seccompFilter(process.arch)
  const cgroups = findCgroups()
  const system = systemArguments()
  const guest = guestFolder()

  async function run(program: SandboxProgram): Promise<SandboxReport> {
    checkProgram(program, languages)
    const startedAt = performance.now()
    const output = createOutputLog(limits.logBytes)
    const report = (end: ProgramEnd, sandboxLog = ''): SandboxReport => ({
      end,
      ...output.finish(),
      sandboxLog,
      durationMs: Math.round(performance.now() - startedAt),
    })
    const interpreter = interpreterOf(program.language, limits)
    const identity = identityOf(program.folders.work)
    const folders = await prepareFolders(program.folders, identity, program.signal)
    if (!folders) return report({ kind: 'cancelled' })
    const cgroup = cgroups && openCgroup(cgroups, limits)
    const requests = await serveRequests(program.answer, identity).catch(async (error: unknown) => {
      await cgroup?.remove()
      await folders.release()
      throw error
    })
    try {
      if (program.signal.aborted) return report({ kind: 'cancelled' })
      if (folders.before.bytes > workspaceBytes) return report(workspaceTooLarge(workspaceBytes))
      const node = program.language === 'javascript' ? process.execPath : undefined
      const files = { guest, node, socket: requests.path, readOnlyInTurn: folders.readOnly }
      const inputs = [filter, program.code, requests.token]
      const { joinFds = [] } = cgroup ?? {}
      const command = sandboxCommand({
        system,
        mounts: mountsOfRun(program.folders, files),
        data: [
          { fd: firstInputFd + 1, target: inside.program[program.language] },
          { fd: firstInputFd + 2, target: inside.token },
        ],
        statusFd,
        seccompFd: firstInputFd,
        environment: { ...environment, DAYBOOK_TOOLS: callableTools(program.tools ?? []) },
        currentFolder: `${inside.out}/${program.folders.turn}`,
        identity,
        joinFds: joinFds.map((_, index) => firstInputFd + inputs.length + index),
        limits,
        cpuSeconds,
        reservedBytes: interpreter.reservedBytes,
        interpreter: interpreter.command,
      })
      const started = startProcess(command, inputs, joinFds, output.add, processesBefore(identity))
      if (started.pid !== undefined) cgroup?.moveInBackground(started.pid)
      const stop = stopWhenNeeded(started, program, { graceMs, maxSeconds: limits.maxSeconds })
      const watch = watchProgram(started, folders.writable, folders.before, limits, stop.now)
      const ended = await started.ended
      watch.stop()
      stop.clear()
      const after = await folders.release()
      const { log } = output.finish()
      const ranOutOfMemory = cgroup?.ranOutOfMemory() ?? false
      return report(
        stop.reason() ?? endOf({ ended, log, ranOutOfMemory, before: folders.before, after, limits, cpuSeconds }),
        ended.messages,
      )
    } finally {
      await requests.close()
      await cgroup?.remove()
      await folders.release()
    }
  }

  return { languages, limits, run }
}

const workspaceTooLarge = (bytes: number): ProgramEnd => ({
  kind: 'limit',
  limit: 'workspace_size_limit',
  message: `the folders have more than ${Math.round(bytes / MiB)} MiB, so the program was not started`,
})

/** The ids that can be written as `alias.name` in a program. */
const callableTools = (ids: readonly string[]) => ids.filter((id) => /^[a-z]\w*\.[a-z]\w*$/i.test(id)).join(',')

/**
 * Ends a program when it is cancelled or its time is over. `now` kills the program for another reason. `reason` returns why the program was
 * ended.
 */
function stopWhenNeeded(
  started: SandboxProcess,
  program: SandboxProgram,
  limits: { readonly graceMs: number; readonly maxSeconds: number },
) {
  const seconds = Math.min(program.timeoutSeconds, limits.maxSeconds)
  let reason: ProgramEnd | undefined
  let graceTimer: NodeJS.Timeout | undefined
  const timer = setTimeout(() => {
    reason ??= { kind: 'limit', limit: 'timeout', message: `the program did not end within ${seconds} seconds` }
    started.terminate()
    graceTimer = setTimeout(started.kill, limits.graceMs)
  }, seconds * 1_000)
  const now = (why: ProgramEnd) => {
    reason ??= why
    started.kill()
  }
  const onAbort = () => now({ kind: 'cancelled' })
  program.signal.addEventListener('abort', onAbort, { once: true })
  if (program.signal.aborted) onAbort()
  return {
    reason: () => reason,
    now,
    clear() {
      clearTimeout(timer)
      clearTimeout(graceTimer)
      program.signal.removeEventListener('abort', onAbort)
    },
  }
}
