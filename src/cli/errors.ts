import { RequestRefused } from '../client/request.ts'
import { Failure, missingPackageText } from '../core/failure.ts'
import { plainLine } from './terminal.ts'

/**
 * A line about an error that the user can fix, with advice. Undefined for other errors. They are bugs, so the caller prints their stack.
 */
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
  const packageName = missingPackageOf(error)
  if (packageName !== undefined) return missingPackageText(packageName)
  if (codeOf(error) === 'EADDRINUSE') return `${(error as Error).message}: choose another port with --port, 0 for any`
  if (error instanceof RangeError || isSystemError(error)) return error.message
  if (error instanceof TypeError && error.message === 'fetch failed') {
    return `the server can not be reached (${codeOf(error.cause) ?? 'no connection'}): check its address, or start one with daybook serve`
  }
  return undefined
}

/** What the user can do, by error code. Errors whose message contains the advice are not listed. */
const advice: Readonly<Record<string, string>> = {
  'conversation.missing': 'daybook list shows the conversations',
  'conversation.exists': 'choose another name with --as',
  'conversation.busy': 'if the process is a chat, close it; if it is a server, use --server <address>',
  'turn.missing': 'daybook show <conversation> lists its turns',
  'token.refused': 'give a valid token with --token or DAYBOOK_TOKEN',
  'store.damaged': 'import an exported copy into another folder with --data',
}

function withAdvice(code: string, message: string): string {
  const more = advice[code]
  return more === undefined || message.includes(more)
    ? `${code}: ${message}`
    : `${code}: ${message.endsWith('.') ? message.slice(0, -1) : message}; ${more}`
}

const codeOf = (error: unknown) =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/**
 * The name of a package that could not be imported. Undefined for other errors, and also for a missing file of Daybook itself, which is a
 * bug.
 */
function missingPackageOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || codeOf(error) !== 'ERR_MODULE_NOT_FOUND') return undefined
  return /^Cannot find package '((?:@[^/']+\/)?[^/']+)/.exec(error.message)?.[1]
}

/** Whether an error comes from the operating system. The user can fix such an error. */
const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error

const readFailures: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder; name a file in it',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EACCES: 'you do not have permission to read it',
  EPERM: 'you do not have permission to read it',
  ENAMETOOLONG: 'the name is too long',
  ERR_FS_FILE_TOO_LARGE: 'it is larger than 2 GiB',
}

/** Explains to the user why a file could not be read. */
export const readFailureText = (error: NodeJS.ErrnoException): string => readFailures[error.code ?? ''] ?? error.message

const writeFailures: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist; create it, or name another file with --out',
  EISDIR: 'it is a folder; name a file in it with --out',
  ENOTDIR: 'a part of its path is a file, not a folder; name another file with --out',
  EACCES: 'you do not have permission to write there; name another file with --out',
  EPERM: 'you do not have permission to write there; name another file with --out',
  EROFS: 'the file system is read-only; name another file with --out',
  ENOSPC: 'the disk is full; free some space, or name a file on another disk with --out',
}

/** Explains to the user why a file could not be written, and what to do. */
export const writeFailureText = (error: NodeJS.ErrnoException): string => writeFailures[error.code ?? ''] ?? error.message
