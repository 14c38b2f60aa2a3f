import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, rm, rmdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import type { Settings } from '../../config.ts'
import { errorMessage, Failure } from '../../core/failure.ts'
import { findUnreferencedBlobs, openStore, sweepUnreferencedBlobs, type UnreferencedBlobs } from '../../wiring.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

/** What works on this machine, and what to do about the rest. Fails when something is missing that nothing works without. */
export function doctorCommand(context: CommandContext, exit: (code: number) => void): Command {
  const { terminal, style } = context
  const command = new Command('doctor')
    .description('what works on this machine, and what to install')
    .option('--sweep', 'first remove blobs that belong to no entry and were put more than a day ago; servers may go on meanwhile')
    .action(async ({ sweep }: { sweep?: true }) => {
      const settings = await context.settings()
      if (sweep) printLine(terminal, sweepReport(await sweepUnreferencedBlobs(settings)))
      const checks = await Promise.all(runChecks(settings, terminal.environment))
      for (const { what, ok, found, advice } of checks) {
        const mark = ok ? style.success('✓') : style.failure('✗')
        printLine(terminal, `${mark} ${what.padEnd(16)} ${ok || advice === undefined ? found : `${found}: ${advice}`}`.trimEnd())
      }
      exit(checks.some(({ ok, needed }) => needed && !ok) ? 1 : 0)
    })
  return withExamples(command, [
    ['daybook doctor', ''],
    ['daybook doctor --sweep', 'what is younger than a day stays: a running server may be about to enter it'],
  ])
}

function sweepReport(removed: UnreferencedBlobs): string {
  if (removed.blobs === 0) return 'no blob has been without an entry for more than a day: nothing was removed'
  return `removed ${removed.blobs} ${removed.blobs === 1 ? 'blob' : 'blobs'} (${formatSize(removed)}) without an entry for more than a day`
}

export interface Check {
  readonly what: string
  readonly ok: boolean
  /** Nothing works without it. */
  readonly needed: boolean
  readonly found: string
  readonly advice?: string
}

type Environment = Readonly<Record<string, string | undefined>>

export function runChecks(settings: Settings, environment: Environment): readonly Promise<Check>[] {
  return [
    checkNode(),
    checkSqlite(),
    checkDataFolder(settings.data),
    checkBlobs(settings),
    checkPort(settings),
    checkProgram('git', ['git'], 'apt-get install git; workspaces of the kind "git" need it'),
    checkProgram('chromium', ['chromium', 'chromium-browser', 'google-chrome'], 'apt-get install chromium; PDF and PNG are made with it'),
    checkProgram('bwrap', ['bwrap'], 'apt-get install bubblewrap; code of the agent runs only inside it'),
    checkModelKeys(environment),
  ]
}

async function checkNode(): Promise<Check> {
  const ok = Number(process.versions.node.split('.')[0]) >= 24
  return { what: 'Node', ok, needed: true, found: process.version, advice: 'install Node 24 or newer' }
}

async function checkSqlite(): Promise<Check> {
  const about = { what: 'node:sqlite', needed: true, advice: 'install a Node that is built with SQLite and FTS5' }
  try {
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(':memory:')
    database.exec('CREATE VIRTUAL TABLE words USING fts5(text)')
    const { version } = database.prepare('SELECT sqlite_version() AS version').get() as { version: string }
    database.close()
    return { ...about, ok: true, found: `${version} with FTS5` }
  } catch (error) {
    return { ...about, ok: false, found: errorMessage(error) }
  }
}

function checkPort({ host, port: number }: Settings): Promise<Check> {
  const about = { what: 'port', needed: false, advice: 'a server may be running there already; choose another with --port' }
  return new Promise((done) => {
    const server = createServer()
    server.once('error', (error) => done({ ...about, ok: false, found: `${host}:${number} ${(error as NodeJS.ErrnoException).code}` }))
    server.listen(number, host, () => server.close(() => done({ ...about, ok: true, found: `${host}:${number} is free` })))
  })
}

async function checkProgram(what: string, commands: readonly string[], advice: string): Promise<Check> {
  for (const command of commands) {
    try {
      const { stdout } = await promisify(execFile)(command, ['--version'], { timeout: 10_000 })
      return { what, ok: true, needed: false, found: stdout.split('\n')[0]?.trim() ?? '' }
    } catch {
      // not this one
    }
  }
  return { what, ok: false, needed: false, found: 'not found', advice }
}

const keyVariables = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'] as const

/** Which are set; never what they are. */
async function checkModelKeys(environment: Environment): Promise<Check> {
  const set = keyVariables.filter((name) => environment[name])
  const advice = `the model "offline" needs none; others need one of ${keyVariables.join(', ')}`
  return { what: 'model keys', ok: set.length > 0, needed: false, found: set.length > 0 ? `${set.join(', ')} set` : 'none set', advice }
}

/** Whether a server could keep its data there. Rights do not tell: on some file systems nobody may write, on others no database works. */
export async function checkDataFolder(data: string): Promise<Check> {
  const folder = resolve(data)
  const about = { what: 'data folder', needed: true, advice: 'choose another with --data or DAYBOOK_DATA' }
  const absent = missingFolders(folder)
  try {
    await tryToWrite(folder)
    return { ...about, ok: true, found: absent.length === 0 ? folder : `${folder} (not made yet)` }
  } catch (error) {
    return { ...about, ok: false, found: `${folder} can not be written to (${causeText(error)})` }
  } finally {
    for (const made of absent) await removeIfEmpty(made)
  }
}

/** What a server does first, in a folder of its own that is taken away again; and whether the database that is there may be changed. */
async function tryToWrite(folder: string): Promise<void> {
  const trial = join(folder, `trial-${randomBytes(6).toString('hex')}`)
  try {
    const store = await openStore({ data: trial })
    try {
      await store.blobs.put(new TextEncoder().encode('a trial'))
    } finally {
      await store.close()
    }
  } finally {
    if (existsSync(trial)) await rm(trial, { recursive: true })
  }
  const database = join(folder, 'daybook.db')
  if (existsSync(database)) await (await open(database, 'r+')).close()
}

/** Those that a server would make, innermost first. */
function missingFolders(folder: string): readonly string[] {
  return existsSync(folder) || folder === dirname(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}

/** One that could not be made is not there; one that somebody has begun to use meanwhile is theirs. */
async function removeIfEmpty(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  try {
    await rmdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
  }
}

/** The store tells where it tried; what went wrong is told by what it met there. */
function causeText(error: unknown): string {
  return errorMessage(error instanceof Failure ? (error.cause ?? error) : error)
}

/** Bytes that a process left behind when it died. They do no harm but take room. */
export async function checkBlobs(settings: Settings): Promise<Check> {
  const about = { what: 'blobs', needed: false, advice: 'daybook doctor --sweep removes what has had none for more than a day' }
  try {
    const left = await findUnreferencedBlobs(settings)
    return { ...about, ok: (left?.old.blobs ?? 0) === 0, found: left ? unreferencedText(left) : 'nothing kept yet' }
  } catch (error) {
    return { what: 'blobs', needed: true, ok: false, found: errorMessage(error) } // no server opens it either
  }
}

function unreferencedText({ old, young }: { readonly old: UnreferencedBlobs; readonly young: UnreferencedBlobs }): string {
  const [lost, late] = [`${old.blobs} (${formatSize(old)})`, `${young.blobs}`]
  if (old.blobs === 0) return young.blobs === 0 ? 'every one belongs to an entry' : `${late} (${formatSize(young)}) may still get an entry`
  return `${lost} belong to no entry${young.blobs === 0 ? '' : `, ${late} more (${formatSize(young)}) may still get one`}`
}

export const formatSize = ({ bytes }: UnreferencedBlobs) => `${bytes.toLocaleString('en')} bytes`
