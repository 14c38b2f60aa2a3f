import { spawn } from 'node:child_process'
import { Failure } from '../../../core/failure.ts'
import { stripAbsolutePaths } from '../../../core/secrets.ts'

export interface GitCall {
  /** May be given when it is known: git is there by then. */
  readonly input?: string | Uint8Array | Promise<string | Uint8Array>
  /** For one that looks at files of a turn: never with a config or a repository that lies there. */
  readonly workTree?: string
  readonly index?: string
  readonly timeoutMs?: number
}

/** Runs git in one repository and gives what it printed. It fails with git's own words, as `workspace.failed`. */
export type Git = (args: readonly string[], call?: GitCall) => Promise<Buffer>

/**
 * Whatever a config could make git run or read is set here, where it counts more than any file: no hooks, no file system monitor, no
 * filters, no attributes and ignore files of the machine's owner, no transport that is a program, no replaced objects, no questions.
 */
const settings = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.untrackedCache': 'false',
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'core.sshCommand': 'ssh -oBatchMode=yes',
  'core.autocrlf': 'false',
  'core.fileMode': 'false',
  'core.quotePath': 'false',
  'core.bare': 'false',
  'protocol.ext.allow': 'never',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'commit.gpgSign': 'false',
  'credential.helper': '',
  'safe.directory': '*',
} as const

const settingArguments = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

export const author = { name: 'Daybook', email: 'daybook@localhost' } as const

const environment: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  HOME: '/nonexistent',
  LC_ALL: 'C',
  TZ: 'UTC',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/false',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
}

const TIMEOUT_MS = 60_000
const MAX_ERROR_LENGTH = 4_000

export function createGit({ program = 'git', repository }: { readonly program?: string; readonly repository: string }): Git {
  return (args, { input, workTree, index, timeoutMs = TIMEOUT_MS } = {}) => {
    const env = {
      ...environment,
      GIT_DIR: repository,
      ...(workTree !== undefined && { GIT_WORK_TREE: workTree }),
      ...(index !== undefined && { GIT_INDEX_FILE: index }),
    }
    return new Promise((resolve, reject) => {
      const child = spawn(program, [...settingArguments, ...args], {
        env,
        cwd: workTree ?? '/',
        stdio: ['pipe', 'pipe', 'pipe'],
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
      })
      const printed: Buffer[] = []
      let complaint = ''
      child.stdout.on('data', (chunk: Buffer) => printed.push(chunk))
      child.stderr.on('data', (chunk: Buffer) => {
        if (complaint.length < MAX_ERROR_LENGTH) complaint += chunk.toString()
      })
      child.on('error', (error) => reject(gitFailure(args, error.message, error)))
      child.on('close', (code, signal) => {
        if (code === 0) resolve(Buffer.concat(printed))
        else reject(gitFailure(args, signal === null ? complaint : `it was stopped after ${timeoutMs} ms`))
      })
      child.stdin.on('error', () => {}) // it ended before it had read everything: how it ended says why
      if (!(input instanceof Promise)) child.stdin.end(input)
      else {
        input.then(
          (known) => child.stdin.end(known),
          (error: unknown) => {
            child.kill('SIGKILL')
            reject(error)
          },
        )
      }
    })
  }
}

function gitFailure(args: readonly string[], said: string, cause?: unknown): Failure {
  const command = args[0] ?? ''
  const words = stripAbsolutePaths(said.trim()) || 'it did not say why'
  return new Failure('workspace.failed', `git ${command} failed: ${words}`, { cause, details: { command, said: words } })
}

export const outputText = (printed: Buffer): string => printed.toString().trim()

/** Records that git ends with NUL: names may hold anything else. */
export const outputRecords = (printed: Buffer): readonly string[] =>
  printed
    .toString()
    .split('\0')
    .filter((record) => record !== '')
