// `npm run proof [-- NAME …]` runs the commands that show what Daybook promises, and writes docs/proof.md from their output. With names, only
// these sections are made again, and the page keeps the others. `npm run proof -- --list` prints the names.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { type Section, sections } from './proof/sections.ts'

const page = 'docs/proof.md'
const introduction = `# Proof

Every table on this page is the output of a command, on the day and machine that stand above it. \`npm run proof\` makes the whole page again;
\`npm run proof -- NAME\` makes one section. Compare ratios only within one section, because the speed of a machine changes.

Attacks and killed processes are counted in [the table of attacks](security.md#the-table-of-attacks): the test suite makes them in every run,
and \`npm run attacks\` makes only them.
`

const names = process.argv.slice(2)
const unknown = names.filter((name) => name !== '--list' && !sections.some((section) => section.name === name))
if (names.includes('--list')) {
  for (const { name, title, minutes } of sections) console.log(`${name.padEnd(12)} ${title} (at most ${minutes} minutes)`)
} else if (unknown.length > 0) {
  console.error(`There is no section ${unknown.join(', ')}. \`npm run proof -- --list\` prints the names.`)
  process.exitCode = 2
} else {
  await writeProof()
}

async function writeProof(): Promise<void> {
  const before = existsSync(page) ? readFileSync(page, 'utf8') : ''
  const texts: string[] = []
  for (const section of sections) {
    const kept = keptText(before, section)
    const isWanted = names.length === 0 || names.includes(section.name)
    if (isWanted) texts.push(await madeText(section))
    else if (kept !== undefined) texts.push(kept)
  }
  writeFileSync(page, `${introduction}\n${texts.join('\n')}`)
  console.log(`wrote ${page}`)
}

/** A section as the page has it. Undefined if the page does not have it. */
function keptText(text: string, { name }: Section): string | undefined {
  const [start, end] = [text.indexOf(`<!-- ${name} -->`), text.indexOf(`<!-- end of ${name} -->`)]
  return start < 0 || end < 0 ? undefined : `${text.slice(start, end)}<!-- end of ${name} -->\n`
}

async function madeText(section: Section): Promise<string> {
  const { name, title, about, command, minutes, shows } = section
  console.log(`\n${title}: ${command.join(' ')}`)
  const { output, problem } = await run(command, minutes)
  const lines = output.split('\n').filter((line) => line.trim() !== '' && (shows?.test(line) ?? true))
  const missing = problem ?? (lines.length === 0 ? 'it printed nothing' : undefined)
  if (missing !== undefined) process.exitCode = 1
  const remark = missing === undefined ? '' : `\nThis run is not complete: ${missing}.\n`
  const when = `${new Date().toISOString().slice(0, 10)}, ${machine()}`
  const made = ['```', ...lines, '```'].join('\n')
  return `<!-- ${name} -->\n## ${title}\n\n${about}\n\n\`${command.join(' ')}\` on ${when}:\n${remark}\n${made}\n\n<!-- end of ${name} -->\n`
}

/** Runs a command, prints its output, and ends it with its children after its time. */
async function run(
  [program, ...args]: Section['command'],
  minutes: number,
): Promise<{ readonly output: string; readonly problem?: string }> {
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1' } })
  let output = ''
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, minutes * 60_000)
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString()
    process.stdout.write(bytes)
  })
  const ended = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`it could not be started (${error.message})`))
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `it ended with ${signal ?? `code ${code}`}`))
  })
  clearTimeout(timer)
  const problem = isLate ? `it did not end within ${minutes} minutes` : ended
  return { output, ...(problem !== undefined && { problem }) }
}

function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30)
  return `Node ${process.versions.node}, ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${memory} GB`
}
