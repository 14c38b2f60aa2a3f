// Runs the tests, and ends when they have ended. A process that a test left running would keep the output of this run open, and a program
// that reads the output would wait for that process. Such processes are named and killed. Arguments are passed on to vitest.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const limitMinutes = 75
/** How long vitest may take to end after the last test. After this time vitest is killed, and the exit code is that of the tests. */
const closingSeconds = 30

// Child processes inherit this variable, even when they outlive their parent. Its name does not begin with `DAYBOOK_`, because the command
// `daybook` refuses unknown variables whose name begins with `DAYBOOK_`.
const run = `TEST_RUN_ID=${process.pid}-${Date.now()}`
const [name = '', value = ''] = run.split('=')

const vitest = spawn(process.execPath, [join('node_modules', 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  env: { ...process.env, [name]: value },
})

let result: number | undefined
const limit = setTimeout(() => {
  console.error(`the tests did not end within ${limitMinutes} minutes`)
  vitest.kill('SIGKILL')
}, limitMinutes * 60_000)

// sent by test/support/slowest-files.ts after the last test
vitest.on('message', (reason) => {
  result = reason === 'passed' ? 0 : 1
  setTimeout(() => {
    console.error(`vitest did not end within ${closingSeconds} seconds after the last test`)
    vitest.kill('SIGKILL')
  }, closingSeconds * 1000).unref()
})

vitest.on('exit', (code) => {
  clearTimeout(limit)
  endLeftovers()
  process.exit(code ?? result ?? 1)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => vitest.kill(signal))

/** Kills the processes that were started in this run and still exist. Only Linux shows the variables of other processes. */
function endLeftovers(): void {
  if (!existsSync('/proc/self/environ')) return
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    if (pid === process.pid || !startedByTests(pid)) continue
    console.error(
      `a test left this process running, it is ended now: ${pid} ${readProcess(pid, 'cmdline')?.replaceAll('\0', ' ').slice(0, 200)}`,
    )
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // the process has ended meanwhile
    }
  }
}

const startedByTests = (pid: number) => readProcess(pid, 'environ')?.split('\0').includes(run) ?? false

/** A file of a process in /proc. Undefined if the process has ended or belongs to another user. */
function readProcess(pid: number, file: 'environ' | 'cmdline'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}
