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
