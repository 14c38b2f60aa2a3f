import { spawn } from 'node:child_process'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { relative } from 'node:path'
import type { Command, Section } from './sections.ts'

/** A section as the page shows it, how long it took, and what could not be run. */
export interface MadeSection {
  readonly text: string
  readonly minutes: number
  readonly problems: readonly string[]
}

interface Ran {
  readonly command: Command
  readonly lines: readonly string[]
  readonly problem?: string
}

/**
 * Runs the commands of a section, one after the other. If a command fails or takes too long, the page says so, and the next command runs.
 */
export async function makeSection(section: Section, print: (line: string) => void): Promise<MadeSection> {
  const startedAt = performance.now()
  const deadline = startedAt + section.minutes * 60_000
  const results: Ran[] = []
  const problem = section.prepare && (await run({ ...section, show: (line) => line }, section.prepare, section.minutes * 60_000)).problem
  for (const command of section.commands) {
    print(`\n$ ${textOf(command)}`)
    const left = deadline - performance.now()
    results.push(left <= 0 ? { command, lines: [], problem: 'there was no time left for it' } : await run(section, command, left))
  }
  const minutes = (performance.now() - startedAt) / 60_000
  const prepared = problem === undefined || !section.prepare ? [] : [`\`${textOf(section.prepare)}\`: ${problem}`]
  const problems = [
    ...prepared,
    ...results.flatMap(({ command, lines, problem }) => [
      ...(problem === undefined ? [] : [`\`${textOf(command)}\`: ${problem}`]),
      ...lines.filter((line) => line.startsWith('not run: ')).map((line) => line.slice('not run: '.length)),
    ]),
  ]
  return { text: sectionText(section, results, minutes, problems), minutes, problems }
}

/** The command as a reader would type it. Paths are shown relative to the repository. */
export const textOf = (command: Command): string =>
  command
    .map((word) => (word.startsWith('/') ? (relative('.', word).startsWith('..') ? word.replace(/^.*\//, '') : relative('.', word)) : word))
    .join(' ')

function sectionText(section: Section, results: readonly Ran[], minutes: number, problems: readonly string[]): string {
  const { name, title, about, isMarkdown } = section
  const when = `${new Date().toISOString().slice(0, 10)}, ${machine()}`
  const shown = results.map(({ command, lines }) => {
    const output = lines.filter((line) => !line.startsWith('not run: '))
    if (output.length === 0) return `\`${textOf(command)}\` printed nothing.`
    return isMarkdown ? output.join('\n') : `\`${textOf(command)}\`:\n\n${['```', ...output, '```'].join('\n')}`
  })
  const over = results.flatMap(({ lines }) => lines).filter((line) => / OVER\b| NOT MET\b/.test(line)).length
  const within = results.flatMap(({ lines }) => lines).filter((line) => /\) +ok\b/.test(line)).length
  const remarks = [
    `Made on ${when}, in ${minutes.toFixed(1)} minutes.`,
    ...(within + over > 0
      ? [`Of ${within + over} lines with a budget, ${over === 0 ? 'none is' : `${over} ${over === 1 ? 'is' : 'are'}`} over it.`]
      : []),
    ...(problems.length > 0 ? [`Not complete: ${problems.join('; ')}.`] : []),
  ]
  return `<!-- ${name} -->\n## ${title}\n\n${about}\n\n${remarks.join('\n')}\n\n${shown.join('\n\n')}\n\n<!-- end of ${name} -->\n`
}

/** Runs a command and prints its output. When `withinMs` have passed, ends the command and its child processes. */
async function run({ show = (line) => line }: Section, command: Command, withinMs: number): Promise<Ran> {
  const [program, ...args] = command
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1' } })
  const endGroup = () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  const onSignal = () => {
    endGroup()
    process.exit(130)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)
  let output = ''
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    endGroup()
  }, withinMs)
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString()
    process.stdout.write(bytes)
  })
  let errors = ''
  child.stderr.on('data', (bytes: Buffer) => {
    errors = `${errors}${bytes}`.slice(-8_000)
    process.stderr.write(bytes)
  })
  const ended = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`it could not be started (${error.message})`))
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `it ended with ${signal ?? `code ${code}`}${reasonIn(errors)}`))
  })
  clearTimeout(timer)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
  const lines = output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .flatMap((line) => show(line.trimEnd()) ?? [])
  const late = isLate ? `it did not end within ${(withinMs / 60_000).toFixed(0)} minutes` : ended
  const problem = late ?? (lines.length === 0 ? 'it printed nothing' : undefined)
  return { command, lines, ...(problem !== undefined && { problem }) }
}

/**
 * The line of the error output that names the error, without the path of the repository on this machine. Empty if no line names an error.
 */
function reasonIn(errors: string): string {
  const line = errors.split('\n').find((each) => /\b\w*Error\b.*: \S/.test(each))
  return line === undefined ? '' : ` (${line.trim().replaceAll(process.cwd(), '.').replaceAll(/[|`]/g, ' ').slice(0, 160)})`
}

function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30)
  return `Node ${process.versions.node}, ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${memory} GB`
}
