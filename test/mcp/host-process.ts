import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished } from 'vitest'
import type { McpConfiguration } from '../../src/ports/mcp-configuration.ts'

/** A process that has started. Its lines are collected. */
export interface StartedProcess {
  readonly child: ChildProcess
  readonly lines: readonly string[]
  write(line: string): void
  /** Waits for a line that fits, and returns it. */
  until(words: RegExp, count?: number): Promise<string>
  readonly ended: Promise<number | null>
  kill(): Promise<void>
}

/** Starts a program of Node. It ends with the test. */
export function startProgram(args: readonly string[], environment: Readonly<Record<string, string>> = {}): StartedProcess {
  const child = spawn(process.execPath, [...args], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...environment } })
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  const fitting = (words: RegExp) => lines.filter((line) => words.test(line))
  return {
    child,
    lines,
    write: (line) => void child.stdin.write(`${line}\n`),
    async until(words, count = 1) {
      await expect.poll(() => fitting(words).length, { timeout: 60_000, interval: 20, message: `${words}` }).toBeGreaterThanOrEqual(count)
      return fitting(words)[count - 1] ?? ''
    },
    ended,
    kill,
  }
}

/** Starts a process with MCP servers. */
export async function startHost(configuration: McpConfiguration, tokens: string): Promise<StartedProcess> {
  const host = startProgram([join(import.meta.dirname, 'servers/host.ts'), JSON.stringify(configuration), tokens])
  await host.until(/^ready$/)
  return host
}

/** Starts the command `daybook`. */
export const startDaybook = (args: readonly string[], environment: Readonly<Record<string, string>> = {}): StartedProcess =>
  startProgram([join(import.meta.dirname, '../../bin/daybook.js'), ...args], { DAYBOOK_SANDBOX: 'off', ...environment })
