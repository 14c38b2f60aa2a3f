import type { ProgramLimit, SandboxLanguage, SandboxProgram } from '../../src/ports/sandbox.ts'

/** Things of this machine that programs must not reach. */
export interface HostFacts {
  /** A text that is in `secretFile`, in a variable and in open files of the process that runs the programs. */
  readonly secret: string
  readonly secretFile: string
  /** The process that runs the programs. */
  readonly pid: number
  /** A server on this machine that greets with the secret. */
  readonly port: number
  /** A local socket without a file, which greets with the secret. */
  readonly abstractSocket: string
  /** The socket of another program that runs at the same time. */
  readonly siblingSocket: string
}

/** A program that tries to break out. */
export interface Attempt {
  readonly name: string
  readonly language?: SandboxLanguage['id']
  readonly code: string
  /** How the program is ended, if it is not able to end by itself. Otherwise it must print `stopped`. */
  readonly limit?: ProgramLimit
  readonly signal?: string
  readonly options?: Partial<SandboxProgram>
}

/** A Python program that tries something. It prints `stopped` if this raises an error, and `ESCAPED` otherwise. */
export const python = (name: string, body: string, rest: Partial<Attempt> = {}): Attempt => ({
  name,
  ...rest,
  code: `import os, sys, ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
  result = libc.syscall(*[ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args])
  if result < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
  return result
def attempt():
${body
  .trim()
  .split('\n')
  .map((line) => `  ${line}`)
  .join('\n')}
try:
  outcome = attempt()
except Exception as error:
  print("stopped:", type(error).__name__, error)
else:
  print("ESCAPED:", outcome)
`,
})

/** The number of a system call on this machine. */
export const callNumber = (x64: number, arm64: number): number => (process.arch === 'x64' ? x64 : arm64)
