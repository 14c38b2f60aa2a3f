// `npm run bench:peers` installs the other frameworks, runs the same workloads with each of them, and prints the tables. Each run of a
// workload has a process of its own. The runs of the frameworks alternate, so that other load on the machine affects all of them.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { peers, type Workload, workloads } from './catalog.ts'
import { install, versionOf } from './install.ts'
import { type Options, parseOptions, usage } from './options.ts'
import { combine, formatNumber, pageWith, type Result, sectionOf, tableOf } from './table.ts'
import type { Measured } from './workloads/measured.ts'

try {
  await bench(parseOptions(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof RangeError)) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}

async function bench(options: Options): Promise<void> {
  const started = performance.now()
  const problems = options.skipsInstall ? new Map<string, string>() : await installAll(options.peers)
  const isWritten = options.peers.length === peers.length && !options.isQuick
  for (const workload of workloads.filter(({ name }) => options.workloads.includes(name))) {
    console.log(`\n${workload.title}`)
    const results = await runWorkload(workload, options, problems)
    console.log(`\n${tableOf(workload, results)}`)
    if (isWritten) write(workload, results)
  }
  console.log(`\n${Math.ceil((performance.now() - started) / 60_000)} minutes`)
  console.log(
    isWritten ? 'wrote bench/peers/results.md' : 'bench/peers/results.md stays as it is: this run was quick, or without some frameworks.',
  )
}

/** Writes the section of a workload as soon as the workload is measured, so that a run that is stopped keeps what it has measured. */
function write(workload: Workload, results: ReadonlyMap<string, Result>): void {
  const file = join(import.meta.dirname, 'results.md')
  const versions = peers.flatMap(({ name }) => versionOf(name) ?? []).join(', ')
  const when = `${new Date().toISOString().slice(0, 10)}, ${machine()}, best of ${workload.runs}; ${versions}`
  writeFileSync(
    file,
    pageWith(existsSync(file) ? readFileSync(file, 'utf8') : '', workloads, workload.name, sectionOf(workload, results, when)),
  )
}

/** Returns the names of the frameworks that could not be installed, each with the reason. */
async function installAll(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>()
  for (const name of names.filter((each) => each !== 'floor')) {
    const problem = await install(name)
    console.log(problem === undefined ? `installed ${versionOf(name)}` : `${name}: ${problem}`)
    if (problem !== undefined) problems.set(name, problem)
  }
  return problems
}

async function runWorkload(workload: Workload, options: Options, problems: ReadonlyMap<string, string>): Promise<Map<string, Result>> {
  const results = new Map<string, Result>()
  const measured = new Map<string, Measured[]>()
  const running = peers.filter(({ name, leavesOut }) => options.peers.includes(name) && leavesOut[workload.name] === undefined)
  for (let run = 0; run < (options.isQuick ? 1 : workload.runs); run++) {
    for (const { name, title } of running) {
      const problem = problems.get(name)
      const previous = results.get(name)
      if (previous !== undefined && 'problem' in previous) continue // has failed in an earlier run of this workload
      const result = problem === undefined ? await runOnce(workload, name, options.isQuick) : { problem }
      if ('problem' in result) {
        if (previous === undefined) results.set(name, result)
        console.log(`  ${title.padEnd(14)} ${result.problem}`)
        continue
      }
      measured.set(name, [...(measured.get(name) ?? []), result.measured])
      results.set(name, { measured: combine(workload.metrics, measured.get(name) as Measured[]) })
      const values = workload.metrics.map(({ id, title: metric, unit }) => {
        const value = result.measured[id]
        return `${metric} ${typeof value === 'number' ? `${formatNumber(value)} ${unit}` : value}`.trim()
      })
      console.log(`  ${title.padEnd(14)} ${values.join(', ')}`)
    }
  }
  return results
}

/** Runs a workload in a process of its own, and ends the process and its children when `seconds` have passed. */
function runOnce({ name: workload, seconds }: Workload, name: string, isQuick: boolean): Promise<Result> {
  const args = [join(import.meta.dirname, 'workload.ts'), workload, name, ...(isQuick ? ['--quick'] : [])]
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors, isLate] = ['', '', false]
  child.stdout.on('data', (bytes: Buffer) => {
    output = (output + bytes).slice(-10_000)
  })
  child.stderr.on('data', (bytes: Buffer) => {
    errors = (errors + bytes).slice(-10_000)
  })
  const timer = setTimeout(() => {
    isLate = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, seconds * 1000)
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer)
      if (isLate) return resolve({ problem: `it did not end within ${seconds} seconds` })
      if (code === 0) return resolve({ measured: JSON.parse(output.trim().split('\n').at(-1) as string) as Measured })
      const reason = errors.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? errors.trim().split('\n').at(-1)
      resolve({ problem: (reason ?? `code ${code}`).replaceAll('|', ' ').slice(0, 200) })
    })
  })
}

function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30)
  return `Node ${process.versions.node}, ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${memory} GB`
}
