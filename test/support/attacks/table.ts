import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { type Attack, attacks, attacksByPart } from './list.ts'

/** An attack with the number of attempts that a run made, and how many of them succeeded. */
interface Row extends Attack {
  readonly attempts: number
  readonly succeeded: number
}

const page = 'docs/security.md'
const [begin, end] = ['<!-- attacks -->', '<!-- end of attacks -->']

/**
 * Prints how many attacks a run made and how many succeeded. docs/security.md has the same table. `npm run attacks` runs the suites of the
 * table and writes the table into the page. A run fails if it makes fewer attempts than the page says. With SHOW_ATTACKS=1, the table is
 * also printed on a machine that can not make all attempts.
 */
let partOfTests = false

export const attackTable: Reporter = {
  onInit(vitest) {
    partOfTests = vitest.config.testNamePattern !== undefined
  },
  onTestRunEnd(modules: readonly TestModule[]) {
    const rows = attacks.flatMap((attack) => rowOf(attack, modules) ?? [])
    if (partOfTests || (rows.length < attacks.length && !process.env.SHOW_ATTACKS)) return
    console.log(`\nattacks\n${printedParts(rows).join('\n')}\n${printedLine(totalOf('all', rows))}`)
    if (process.env.UPDATE_ATTACKS) return writePage(rows)
    const outdated = rows.filter(({ name, attempts }) => attempts < documentedAttempts(name))
    if (outdated.length === 0) return
    console.error(`${page} promises more attempts: ${outdated.map(({ name }) => name).join(', ')}. Write it again with npm run attacks.`)
    process.exitCode = 1
  },
}

/** Undefined when no test of the attack ran. */
function rowOf(attack: Attack, modules: readonly TestModule[]): Row | undefined {
  // some suites also run with PostgreSQL, and their attempts are counted once
  const module = modules.find(({ moduleId, project }) => project.name !== 'postgres' && relative('.', moduleId) === attack.file)
  const named = [...(module?.children.allTests() ?? [])].filter(({ fullName }) => fullName.includes(attack.tests ?? ''))
  const tests = named.filter((test) => test.result().state !== 'skipped')
  if (tests.length === 0) return undefined
  const sum = (counted: readonly TestCase[]) => counted.reduce((total, test) => total + (test.meta().attempts ?? 1), 0)
  return { ...attack, attempts: sum(tests), succeeded: sum(tests.filter((test) => test.result().state === 'failed')) }
}

/** The rows under their headings, each with a sum. Attacks of which no test ran are named. */
function printedParts(rows: readonly Row[]): readonly string[] {
  return Object.entries(attacksByPart).flatMap(([part, listed]) => {
    const made = rows.filter(({ name }) => listed.some((attack) => attack.name === name))
    const missing = listed.filter(({ name }) => !made.some((row) => row.name === name))
    return [
      printedLine(totalOf(part.toUpperCase(), made)),
      ...made.map(printedLine),
      ...missing.map(({ name }) => `not run: ${name} (its tests were skipped or did not load)`),
    ]
  })
}

const totalOf = (name: string, rows: readonly Row[]): Row => ({
  name,
  file: '',
  outcome: '',
  attempts: rows.reduce((sum, row) => sum + row.attempts, 0),
  succeeded: rows.reduce((sum, row) => sum + row.succeeded, 0),
})

const printedLine = ({ name, attempts, succeeded, outcome }: Row): string =>
  `${String(attempts).padStart(6)} attempts, ${succeeded} succeeded  ${name}${outcome && `: ${outcome}`}`

const pageLine = ({ name, attempts, outcome, file }: Row): string => `| ${name} | ${attempts} | ${outcome} | \`${file}\` |`

function writePage(rows: readonly Row[]): void {
  const text = readFileSync(page, 'utf8')
  const [before, after] = [text.slice(0, text.indexOf(begin) + begin.length), text.slice(text.indexOf(end))]
  const head = '| attack | attempts | what happens | test |\n| --- | ---: | --- | --- |'
  const tables = Object.entries(attacksByPart).map(([part, listed]) => {
    const names = new Set(listed.map(({ name }) => name))
    const lines = rows.filter(({ name }) => names.has(name)).map(pageLine)
    return `### ${part}\n\n${head}\n${lines.join('\n')}`
  })
  writeFileSync(page, `${before}\n\n${tables.join('\n\n')}\n\n${after}`)
}

function documentedAttempts(name: string): number {
  const line = readFileSync(page, 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`| ${name} |`))
  return Number(line?.split('|')[2] ?? 0)
}
