import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'

/** What a command is run in: where words come from and go to, and who may ask it to end. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: Writable & { readonly isTTY?: boolean }
  /** For people only: progress, warnings, what went wrong. */
  readonly errors: Writable & { readonly isTTY?: boolean }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The working folder. */
  readonly folder: string
  /** Calls back when the process is asked to end. Whoever listens ends in order; returns how to stop listening. */
  onSignal(listener: (signal: EndSignal) => void): () => void
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndSignal = (typeof signals)[number]

/** What shells expect of a program that a signal ended. */
export const exitCodeOf = (signal: EndSignal): number => 128 + constants.signals[signal]

export function processTerminal(): Terminal {
  return {
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    environment: process.env,
    folder: process.cwd(),
    onSignal(listener) {
      const heard = (signal: NodeJS.Signals) => listener(signal as EndSignal) // one of those it listens to
      for (const signal of signals) process.once(signal, heard) // once: asked again, it ends at once
      return () => {
        for (const signal of signals) process.off(signal, heard)
      }
    },
  }
}

export const printLine = ({ output }: Pick<Terminal, 'output'>, line = ''): void => void output.write(`${line}\n`)

/** How words look in a terminal; plain where nobody sees colours. */
export interface Style {
  dim(words: string): string
  bold(words: string): string
  success(words: string): string
  failure(words: string): string
  link(words: string): string
}

const plainStyle: Style = { dim: unchanged, bold: unchanged, success: unchanged, failure: unchanged, link: unchanged }

const ansi = (open: number, close: number) => (words: string) => `\x1b[${open}m${words}\x1b[${close}m`

const colourStyle: Style = {
  dim: ansi(2, 22),
  bold: ansi(1, 22),
  success: ansi(32, 39),
  failure: ansi(31, 39),
  link: ansi(36, 39),
}

/** Colours only on a terminal that wants them (no-color.org). */
export function styleFor(stream: { readonly isTTY?: boolean }, environment: Readonly<Record<string, string | undefined>>): Style {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== '') return plainStyle
  if (environment.FORCE_COLOR !== undefined && environment.FORCE_COLOR !== '0') return colourStyle
  return stream.isTTY === true && environment.TERM !== 'dumb' ? colourStyle : plainStyle
}

function unchanged(words: string): string {
  return words
}

/**
 * Text of others as a terminal may show it. A terminal obeys what it is sent: a model, a file or a title could move the cursor, rename the
 * window or write into the clipboard. Signs that would be obeyed are shown as pictures of themselves.
 */
export const plainText = (text: string): string => text.replace(controlCharacters, visibleCharacter)

/** The same on one line. */
export const plainLine = (text: string): string => plainText(text.replace(/\s+/g, ' ').trim())

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function visibleCharacter(sign: string): string {
  const code = sign.charCodeAt(0)
  if (code === 0x0d) return ''
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
}

/** Says what takes long while it does, to a person who watches; nothing is left of it, and nothing of it is in the output. */
export async function withProgress<T>(
  { errors }: Pick<Terminal, 'errors'>,
  style: Style,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!errors.isTTY) return work()
  const began = performance.now()
  const show = () => errors.write(`\r${style.dim(`${what} … ${Math.round((performance.now() - began) / 1000)} s`)}`)
  const timer = setInterval(show, 1_000)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    errors.write('\r\x1b[K')
  }
}
