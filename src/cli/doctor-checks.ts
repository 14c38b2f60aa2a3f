import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import type { Settings } from '../config.ts'
import { errorMessage } from '../core/failure.ts'
import { checkBlobs } from './doctor-blobs.ts'
import { checkDataFolder } from './doctor-data-folder.ts'

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
