import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'

/** A folder with one database and its blobs. */
export interface DatabaseFolder {
  readonly folder: string
  readonly file: string
  readonly blobs: string
}

export function createDatabaseFolder(): DatabaseFolder {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-faults-'))
  return { folder, file: join(folder, 'daybook.db'), blobs: join(folder, 'blobs') }
}

export const openStoreIn = ({ file, blobs }: DatabaseFolder) =>
  createSqliteStore({ file, blobs: createFileBlobs({ folder: blobs }), clock: createSystemClock() })

export interface Writer {
  /** Starts the work. Until then the child only loads its code, so a test can be sure to kill it during the work. */
  begin(): Writer
  readonly lines: string[]
  /** Resolves when the child has printed this many lines, or has ended. */
  waitForLines(lines: number): Promise<void>
  readonly ended: Promise<void>
  kill(): Promise<void>
}

// A folder for compiled code, so that children start faster. Node fills it only when a process exits normally. Killed children only read
// it.
export const codeCache = join(tmpdir(), `daybook-faults-code-${process.pid}`)
const script = join(import.meta.dirname, 'writer.ts')

/** Starts a child process that writes to a store. `shell` is a script that may set limits first. It must end with `exec "$@"`. */
export function startWriter(
  database: DatabaseFolder,
  options: { conversation: string; owner: string; appends?: number; shell?: string },
): Writer {
  const { conversation, owner, appends, shell } = options
  const command = [
    process.execPath,
    script,
    ...['--file', database.file, '--blobs', database.blobs, '--conversation', conversation, '--owner', owner],
    ...(appends === undefined ? [] : ['--appends', String(appends)]),
  ]
  const [program, ...args] = shell === undefined ? command : ['sh', '-c', shell, 'sh', ...command]
  return watch(
    spawn(program as string, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, NODE_COMPILE_CACHE: codeCache } }),
  ) // `command` is never empty
}

function watch(child: ChildProcess): Writer {
  const lines: string[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  const wake = (ended: boolean) => {
    for (const { count, resolve } of waiting) if (ended || lines.length >= count) resolve()
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve())).then(() => wake(true))
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      wake(false)
    })
  const writer: Writer = {
    begin() {
      child.stdin?.end('go')
      return writer
    },
    lines,
    waitForLines: (count) =>
      Promise.race([ended, new Promise<void>((resolve) => (lines.length >= count ? resolve() : waiting.push({ count, resolve })))]),
    ended,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
  return writer
}

/** The highest `seq` that the store has acknowledged to a writer. */
export const acknowledged = ({ lines }: Writer): number =>
  Math.max(0, ...lines.flatMap((line) => (line.startsWith('acknowledged ') ? [Number(line.slice(13))] : [])))
