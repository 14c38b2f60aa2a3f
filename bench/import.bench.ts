import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { median, report } from './measure.ts'

/**
 * A program that prints the processor time of an import in milliseconds. Other load on the machine changes this time less than the elapsed
 * time.
 */
const program = `
const before = process.cpuUsage()
await import(process.argv[1])
const { user, system } = process.cpuUsage(before)
console.log((user + system) / 1000)`

const runs = 15

/** The time to import Daybook may be at most this many times the time to import `ai`. */
const budget = 1.1

/** Compares the time to import the published package with the time to import `ai`. Run `npm run build` first. */
export async function bench(): Promise<void> {
  const root = new URL('..', import.meta.url)
  const entries = {
    ours: new URL('dist/index.js', root).href,
    models: new URL('dist/adapters/model/index.js', root).href,
    zod: 'zod',
    ai: 'ai',
  }
  if (!existsSync(new URL(entries.ours))) return console.log('  not built: npm run build')
  const times: Record<keyof typeof entries, number[]> = { ours: [], models: [], zod: [], ai: [] }
  for (let run = 0; run < runs; run++) {
    for (const name of Object.keys(entries) as (keyof typeof entries)[]) times[name].push(await importing(entries[name]))
  }
  const ai = median(times.ai)
  report('import of the main entry', median(times.ours) / ai, budget, 'ai')
  report('import of daybook/models alone', median(times.models) / ai, budget, 'ai')
  console.log(`  ${''.padEnd(4)}zod alone takes ${(median(times.zod) / median(times.ours)).toFixed(2)} of the time of the main entry`)
}

async function importing(what: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, what], {
    cwd: new URL('..', import.meta.url),
  })
  return Number(stdout)
}
