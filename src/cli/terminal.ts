import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'

/** The parts of the process that a command uses: streams, environment variables, working folder and signals. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: Writable & { readonly isTTY?: boolean }
  /** The stream for progress, warnings and errors. They are not written to `output`, so that a program can read the results there. */
  readonly errors: Writable & { readonly isTTY?: boolean }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The working folder. Paths that the user gives are relative to it. */
  readonly folder: string
  /** Calls the listener when a signal asks the process to end. The returned function removes the listener. */
  onSignal(listener: (signal: EndSignal) => void): () => void
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndSignal = (typeof signals)[number]

/** The exit code that shells expect from a program that a signal has ended. */
export const exitCodeOf = (signal: EndSignal): number => 128 + constants.signals[signal]

export function processTerminal(): Terminal {
  return {
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    environment: process.env,
    folder: process.cwd(),
    onSignal(listener) {
      const onSignal = (signal: NodeJS.Signals) => listener(signal as EndSignal)
      // `once`: a second signal of the same kind finds no listener, so it ends the process immediately
      for (const signal of signals) process.once(signal, onSignal)
      return () => {
        for (const signal of signals) process.off(signal, onSignal)
      }
    },
  }
}

export const printLine = ({ output }: Pick<Terminal, 'output'>, line = ''): void => void output.write(`${line}\n`)

/** Functions that style text for a terminal. Without colours, they return the text unchanged. */
export interface Style {
  dim(text: string): string
  bold(text: string): string
  italic(text: string): string
  success(text: string): string
  failure(text: string): string
  link(text: string): string
}

/**
 * The style for a stream. By default only terminals get colours. `NO_COLOR` (no-color.org), `FORCE_COLOR` and `TERM=dumb` override this.
 */
export function styleFor(stream: { readonly isTTY?: boolean }, environment: Readonly<Record<string, string | undefined>>): Style {
  const coloured = wantsColours(stream, environment)
  const styled = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    // without `validateStream: false`, `styleText` would check the standard output of the process, and not `stream`
    coloured ? styleText(format, text, { validateStream: false }) : text
  return {
    dim: styled('dim'),
    bold: styled('bold'),
    italic: styled('italic'),
    success: styled('green'),
    failure: styled('red'),
    link: styled('cyan'),
  }
}

/** Whether text for this stream is styled. */
export function wantsColours({ isTTY }: { readonly isTTY?: boolean }, environment: Readonly<Record<string, string | undefined>>): boolean {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== '') return false
  if (environment.FORCE_COLOR !== undefined && environment.FORCE_COLOR !== '0') return true
  return isTTY === true && environment.TERM !== 'dumb'
}

/**
 * Makes text of models, files and users safe to print. Control characters could move the cursor, rename the window or write to the
 * clipboard. They are replaced by visible characters.
 */
export const plainText = (text: string): string => text.replace(controlCharacters, visibleCharacter)

/** Makes text of models, files and users safe to print, and puts it on one line. */
export const plainLine = (text: string): string => plainText(text.replace(/\s+/g, ' ').trim())

// biome-ignore lint/suspicious/noControlCharactersInRegex: this expression has to match control characters
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function visibleCharacter(character: string): string {
  const code = character.charCodeAt(0)
  if (code === 0x0d) return ''
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
}

/** Shows the elapsed time while `work` runs, and then clears it. Shows nothing if the error stream is not a terminal. */
export async function withProgress<T>(
  { errors }: Pick<Terminal, 'errors'>,
  style: Style,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!errors.isTTY) return work()
  const startedAt = performance.now()
  const show = () => errors.write(`\r${style.dim(`${what} … ${Math.round((performance.now() - startedAt) / 1000)} s`)}`)
  const timer = setInterval(show, 1_000)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    errors.write('\r\x1b[K')
  }
}

const TIMER_MS = 60_000

/**
 * Keeps the process running until the returned function is called. A command that waits for a turn of another process needs this, because
 * Node ends a process that only waits for promises.
 */
export function keepProcessRunning(): () => void {
  const timer = setInterval(() => {}, TIMER_MS)
  return () => clearInterval(timer)
}
