import { spawn } from 'node:child_process'
import { Failure } from '../../../core/failure.ts'
import { redact } from '../../../core/secrets.ts'
import { removeRulePipes } from './rule-pipes.ts'

interface GitOptions {
  /** The standard input. If it is a promise, git is started before the input is known. */
  readonly input?: string | Uint8Array | Promise<string | Uint8Array>
  /** The folder of a turn, for commands that read its files. git reads no configuration and no repository in it. */
  readonly workTree?: string
  readonly index?: string
  readonly timeoutMs?: number
}

/** Runs git in one repository and returns its output. If git fails, throws `workspace.failed` with the error text of git. */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<Buffer>

/**
 * Settings that override the configuration files of git. A configuration file could make git run programs, such as hooks, or read other
 * files. These settings and `environment` together make git ignore everything that the agent or the user has configured.
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
/** If a git process reads the folder of a turn and takes longer than this, it may be waiting for a pipe. The pipes are then removed. */
const PIPES_AFTER_MS = 500
const MAX_ERROR_LENGTH = 4_000

/** Makes a function that runs git without the configuration of the machine, of the user or of the agent. */
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
      // if the pipes can not be removed, the timeout ends git
      const removePipes = workTree === undefined ? undefined : () => void removeRulePipes(workTree).catch(() => {})
      const pipesTimer = removePipes && setTimeout(removePipes, PIPES_AFTER_MS)
      const output: Buffer[] = []
      let errorText = ''
      child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
      child.stderr.on('data', (chunk: Buffer) => {
        if (errorText.length < MAX_ERROR_LENGTH) errorText += chunk.toString()
      })
      child.on('error', (error) => reject(gitFailure(args, startFailure(error), error)))
      child.on('close', (code, signal) => {
        clearTimeout(pipesTimer)
        if (code === 0) resolve(Buffer.concat(output))
        else reject(gitFailure(args, signal === null ? errorText : `it was stopped after ${timeoutMs} ms`))
      })
      child.stdin.on('error', () => {}) // git ended before it had read all input. Its exit code tells why
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

/** Why git could not be started. ENOENT means that the program is missing, because the working folder exists: Daybook has created it. */
const startFailure = (error: NodeJS.ErrnoException): string =>
  error.code === 'ENOENT'
    ? `the program ${error.path ?? 'git'} was not found. Install it, or choose another kind of workspace`
    : error.message

function gitFailure(args: readonly string[], errorText: string, cause?: unknown): Failure {
  const command = args[0] ?? ''
  const reason = redact(errorText.trim()) || 'it did not say why'
  return new Failure('workspace.failed', `git ${command} failed: ${reason}`, { cause, details: { command, said: reason } })
}

export const outputText = (output: Buffer): string => output.toString().trim()

/** The records in the output of a command with `-z`. Each record ends with NUL, which no path contains. */
export const outputRecords = (output: Buffer): readonly string[] =>
  output
    .toString()
    .split('\0')
    .filter((record) => record !== '')
