import { RequestRefused } from '../client/request.ts'
import { Failure } from '../core/failure.ts'
import { plainLine } from './terminal.ts'

/** What to do about it, where the message does not say so itself. */
const advice: Readonly<Record<string, string>> = {
  'conversation.missing': 'daybook list shows what there is',
  'conversation.exists': 'choose another name',
  'conversation.busy': 'another process is at work on it: wait, or end that one',
  'turn.missing': 'daybook show <conversation> names its turns',
  'token.refused': 'give another with --token or DAYBOOK_TOKEN',
  'store.damaged': 'import an export of it into another folder with --data',
}

/** One line about what a user can mend, and how; undefined for a mistake of ours. */
export function describeError(error: unknown): string | undefined {
  const line = describeKnown(error)
  return line === undefined ? undefined : plainLine(line)
}

function describeKnown(error: unknown): string | undefined {
  if (error instanceof Failure) return withAdvice(error.code, error.message)
  if (error instanceof RequestRefused) {
    const issues = (error.problem.issues ?? []).map(({ where, message }) => `${where} ${message}`.trim())
    return withAdvice(error.code, [error.message, ...issues].join('; '))
  }
  if (codeOf(error) === 'EADDRINUSE') return `${(error as Error).message}: choose another port with --port, 0 for any`
  if (error instanceof RangeError || isSystemError(error)) return error.message
  if (error instanceof TypeError && error.message === 'fetch failed') {
    return `the server can not be reached (${codeOf(error.cause) ?? 'no connection'}): is it running there? daybook serve starts one`
  }
  return undefined
}

function withAdvice(code: string, message: string): string {
  const more = advice[code]
  return `${code}: ${message}${more === undefined || message.includes(more) ? '' : `; ${more}`}`
}

const codeOf = (error: unknown) =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** What the system refused is the user's to mend; where in our code it was noticed tells nothing. */
const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error

const readFailures: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, name a file in it',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EACCES: 'it may not be read by you',
  EPERM: 'it may not be read by you',
  ENAMETOOLONG: 'no file has so long a name',
  ERR_FS_FILE_TOO_LARGE: 'it is larger than 2 GiB',
}

/** Why a file cannot be read, in words. */
export const readFailureText = (error: NodeJS.ErrnoException): string => readFailures[error.code ?? ''] ?? error.message

const writeFailures: Readonly<Record<string, string>> = {
  ENOENT: 'its folder is not there; make it, or name another file with --out',
  EISDIR: 'it is a folder; name a file in it with --out',
  ENOTDIR: 'a part of its path is a file, not a folder; name another with --out',
  EACCES: 'you may not write there; name another file with --out',
  EPERM: 'you may not write there; name another file with --out',
  EROFS: 'nothing can be written there; name another file with --out',
  ENOSPC: 'the disk is full; make room, or name a file on another with --out',
}

/** Why a file can not be written, and what to do. */
export const writeFailureText = (error: NodeJS.ErrnoException): string => writeFailures[error.code ?? ''] ?? error.message
