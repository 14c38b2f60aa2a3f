import { spawn } from 'node:child_process'
import { expect } from 'vitest'

/** A program in a pseudo-terminal. The test sends keys and reads the screen. */
export interface PseudoTerminal {
  press(keys: string): void
  /**
   * Waits until this text is on the screen, after the text that the previous `until` found. Resolves to the output from there to the end of
   * this text.
   */
  until(words: string | RegExp): Promise<string>
  /** All output of the program, including control sequences. */
  readonly raw: string
  readonly exitCode: Promise<number | null>
  kill(): void
}

/** Starts a program in a pseudo-terminal, with the command `script`, which every Debian system has. */
export function openPseudoTerminal(
  command: string,
  options: { readonly folder: string; readonly environment: NodeJS.ProcessEnv },
): PseudoTerminal {
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', `stty rows 40 cols 100; exec ${command}`, '/dev/null'], {
    cwd: options.folder,
    env: { ...options.environment, TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let raw = ''
  let seen = 0
  const read = (text: string) => {
    raw += text
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', read)
  const exitCode = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    press: (keys) => void child.stdin.write(keys),
    async until(words) {
      const find = () => {
        const rest = shown(raw).slice(seen)
        const at = typeof words === 'string' ? rest.indexOf(words) : rest.search(words)
        const length = typeof words === 'string' ? words.length : (words.exec(rest)?.[0].length ?? 0)
        return at < 0 ? undefined : rest.slice(0, at + length)
      }
      await expect
        .poll(find, { timeout: 25_000, interval: 20, message: `waiting for ${words} after ${shown(raw).slice(-600)}` })
        .toBeDefined()
      const found = find() ?? ''
      seen += found.length
      return found
    },
    get raw() {
      return raw
    },
    exitCode,
    kill: () => void child.kill('SIGKILL'),
  }
}

/** Removes control sequences for cursor and colour. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control sequences
const shown = (raw: string) => raw.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '')
