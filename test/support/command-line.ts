import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { expect } from 'vitest'
import { main } from '../../src/cli/main.ts'
import type { EndSignal, Terminal } from '../../src/cli/terminal.ts'
import type { SettingsLayer } from '../../src/config/config.ts'
import { type Reply, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'

/** The command line in a temporary folder, with the text that it prints. */
export interface CommandLine {
  readonly folder: string
  /**
   * Runs a command until it ends. `text` is everything that was printed to both streams, in order, without the last line end. `output` is
   * stdout, and `errors` is stderr.
   */
  run(
    ...args: readonly string[]
  ): Promise<{ readonly exitCode: number; readonly text: string; readonly output: string; readonly errors: string }>
  /** Starts an interactive command. */
  start(...args: readonly string[]): RunningCommand
  readonly environment: Record<string, string>
  /** Settings that override the settings of all other sources. */
  settings: SettingsLayer['values']
  /** Replaces the settings by a scripted model with these replies. */
  setReplies(...replies: readonly Reply[]): ScriptedModel
  remove(): void
}

export interface RunningCommand {
  readonly exitCode: Promise<number>
  readonly text: string
  type(line: string): void
  endOfInput(): void
  /** Ends the command in the same way as a signal of the operating system. */
  end(signal?: EndSignal): void
  /**
   * Waits until the command prints this text, after the text that the previous `until` found. Resolves to the output from there to the end
   * of this text.
   */
  until(words: string | RegExp): Promise<string>
}

export function createCommandLine(given: SettingsLayer['values'] = {}): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-cli-'))
  const line: CommandLine = {
    folder,
    // the sandbox is off, because it takes half a second to find out whether this machine can isolate programs
    environment: { DAYBOOK_SANDBOX: 'off' },
    settings: given,
    async run(...args) {
      const { terminal, printed } = fakeTerminal(folder, line.environment)
      terminal.input.end()
      const exitCode = await main(['--data', join(folder, 'data'), ...args], terminal, line.settings)
      return { exitCode, text: printed.all.trimEnd(), output: printed.output, errors: printed.errors }
    },
    start(...args) {
      const { terminal, printed, end } = fakeTerminal(folder, line.environment)
      const exitCode = main(['--data', join(folder, 'data'), ...args], terminal, line.settings)
      let seen = 0
      return {
        exitCode,
        get text() {
          return printed.all
        },
        type: (text) => void terminal.input.write(`${text}\n`),
        endOfInput: () => void terminal.input.end(),
        end,
        async until(words) {
          const find = () => {
            const rest = printed.all.slice(seen)
            const found = typeof words === 'string' ? rest.indexOf(words) : rest.search(words)
            return found < 0 ? undefined : { rest, found }
          }
          await expect.poll(find, { timeout: 20_000, interval: 5, message: `waiting for ${words}` }).toBeDefined()
          const { rest, found } = find() as { rest: string; found: number }
          const length = typeof words === 'string' ? words.length : (words.exec(rest)?.[0].length ?? 0)
          seen += found + length
          return rest.slice(0, found + length)
        },
      }
    },
    setReplies(...replies) {
      const model = scriptedModel(replies)
      line.settings = { model }
      return model
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
  return line
}

function fakeTerminal(folder: string, environment: Record<string, string>) {
  const printed = { all: '', output: '', errors: '' }
  const into = (...names: readonly (keyof typeof printed)[]) =>
    new Writable({
      decodeStrings: false,
      write(text, _, done) {
        for (const name of names) printed[name] += String(text)
        done()
      },
    })
  const listeners = new Set<(signal: EndSignal) => void>()
  const terminal = {
    input: new PassThrough(),
    output: into('all', 'output'),
    errors: into('all', 'errors'),
    environment,
    folder,
    onSignal(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  } satisfies Terminal
  const end = (signal: EndSignal = 'SIGINT') => {
    for (const listener of [...listeners]) listener(signal)
  }
  return { terminal, printed, end }
}
