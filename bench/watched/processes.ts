import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The numbers that a program has measured, by name. */
export type Measured = Readonly<Record<string, number>>

/** Options of a run of the bench. */
export interface RunOptions {
  /** The folders in which packages are installed, by name. The first package is the one of this checkout. */
  readonly packages: Readonly<Record<string, string>>
  /** How many processes run each program. The result is the best number of all processes. */
  readonly processes: number
  /** The folder for profiles of the programs. Without it, no profile is made. */
  readonly profiles?: string | undefined
}

/** Runs a program in a new process, with a folder of its own, and returns what it has measured. */
export async function runProgram(
  options: RunOptions,
  from: string,
  program: string,
  input: object,
  nodeOptions: readonly string[] = [],
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-watched-'))
  const profile = options.profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(options.profiles, program)}`]
  try {
    const args = [...nodeOptions, ...profile, join(from, `${program}.ts`), JSON.stringify({ folder, ...input })]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: from })
    return JSON.parse(stdout) as Measured
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Runs a program for each package, and also its floor (the part of the program without Daybook) if it has one. These runs alternate.
 * Returns the best numbers of each package and of the floor.
 */
export async function measure(
  options: RunOptions,
  program: string,
  input: object,
  { hasFloor }: { readonly hasFloor: boolean },
): Promise<{ readonly floor: Measured; readonly packages: readonly Measured[] }> {
  const folders = Object.values(options.packages)
  const first = folders[0] as string // there is always at least one package
  let floor: Measured = {}
  let packages: Measured[] = folders.map(() => ({}))
  for (let take = 0; take < options.processes; take++) {
    if (hasFloor) floor = bestOf(floor, await runProgram({ ...options, profiles: undefined }, first, program, { ...input, of: 'floor' }))
    const taken: Measured[] = []
    for (const folder of folders) taken.push(await runProgram(options, folder, program, { ...input, of: 'daybook' }))
    packages = packages.map((best, n) => bestOf(best, taken[n] as Measured))
  }
  return { floor, packages }
}

/** For each name, the lower of the two numbers. */
function bestOf(best: Measured, taken: Measured): Measured {
  return Object.fromEntries(Object.entries(taken).map(([name, value]) => [name, Math.min(best[name] ?? Number.POSITIVE_INFINITY, value)]))
}
