import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { measureServer, type ServerTurns } from './watched/http.ts'
import { installPackage } from './watched/package.ts'
import { type Measured, measure, type RunOptions } from './watched/processes.ts'

/**
 * Measures what users have: the packed package, in new processes, with a caller that reads the events. Each number is the best of several
 * processes. The floor is the time of a hand-written program without Daybook, measured in the same run. Run `npm run build` first.
 *
 *   npm run bench -- watched [--only round,http] [--processes 3] [--against <other checkout>] [--cpu-prof <folder>]
 *
 * With `--against`, another built checkout is also measured. The measurements of the two checkouts alternate. With `--cpu-prof`, profiles
 * are written to a folder, and `scripts/profile-top.ts` prints their functions.
 */
export async function bench(options: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      only: { type: 'string' },
      processes: { type: 'string', default: '3' },
      against: { type: 'string' },
      'cpu-prof': { type: 'string' },
    },
  })
  const wanted = values.only?.split(',')
  const folder = mkdtempSync(join(tmpdir(), 'daybook-packages-'))
  const checkouts = { here: join(import.meta.dirname, '..'), ...(values.against !== undefined && { against: resolve(values.against) }) }
  try {
    const packages = Object.fromEntries(Object.keys(checkouts).map((name) => [name, join(folder, name)]))
    for (const [name, checkout] of Object.entries(checkouts)) {
      mkdirSync(join(folder, name))
      installPackage(checkout, join(folder, name))
    }
    const run: RunOptions = {
      packages,
      processes: Number(values.processes),
      ...(values['cpu-prof'] !== undefined && { profiles: resolve(values['cpu-prof']) }),
    }
    console.log(`load of the machine before: ${loadavg().map((load) => load.toFixed(1))}; best of ${run.processes} processes`)
    for (const [name, workload] of Object.entries(workloads)) if (!wanted || wanted.includes(name)) await workload(run)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const workloads: Readonly<Record<string, (run: RunOptions) => Promise<void>>> = {
  async round(run) {
    for (const watched of [true, false]) {
      const { floor, packages } = await measure(run, 'round', { watched }, { hasFloor: watched })
      const what = `round in memory, ${watched ? 'watched' : 'not watched'}`
      line(`${what}, first 50, µs`, packages, 'cold', { mustReach: 80, floor })
      line(`${what}, hot, µs`, packages, 'hot', { mustReach: 35, floor })
    }
  },

  async streaming(run) {
    for (const cited of [false, true]) {
      const { floor, packages } = await measure(run, 'streaming', { cited }, { hasFloor: !cited })
      line(`1 MB answer${cited ? ' with citations' : ''}, watched, µs per chunk`, packages, 'perChunk', { mustReach: 1.5, floor })
    }
  },

  async conversations(run) {
    const { floor, packages } = await measure(run, 'conversations', {}, { hasFloor: true })
    line('200 conversations, watched, first time, × ideal', packages, 'cold', { mustReach: 5, floor })
    line('200 conversations, first time, loop p99, ms', packages, 'coldDelay', { mustReach: 40, floor })
    line('200 conversations, watched, hot, × ideal', packages, 'hot', { mustReach: 5, floor })
    line('200 conversations, hot, loop p99, ms', packages, 'hotDelay', { mustReach: 40, floor })
  },

  async 'first-request'(run) {
    for (const [messages, memory, disk] of [
      [100, 0.4, 2],
      [10_000, 20, 90],
    ] as const) {
      const { floor, packages } = await measure(run, 'first-request', { messages }, { hasFloor: true })
      const at = `at ${messages.toLocaleString('en')} messages`
      line(`first request ${at}, timeline kept, ms`, packages, 'memory', { mustReach: memory, floor: {} })
      line(`first request ${at}, store in memory, ms`, packages, 'memoryLoaded', { mustReach: memory, floor: {} })
      line(`first request ${at}, from disk, ms`, packages, 'disk', { mustReach: disk, floor })
      if (messages > 1_000) line(`next round ${at}, ms`, packages, 'next', { mustReach: 0.31, floor })
    }
  },

  async durable(run) {
    const { packages } = await measure(run, 'durable', { watched: true }, { hasFloor: false })
    const [first] = packages
    for (const [name, what] of [
      ['early', 'durable round, turns 2 to 11, ms'],
      ['late', 'durable round, turns 91 to 100, ms'],
    ] as const) {
      const floor = first?.[name === 'early' ? 'floorEarly' : 'floorLate'] ?? Number.NaN
      line(what, packages, name, { mustReach: 2 * floor, floor: { [name]: floor } })
    }
    line('bytes passed to the system per round, KB', packages, 'passed', {
      mustReach: 6,
      floor: { passed: first?.floorPassed ?? Number.NaN },
    })
    line('bytes written to the disk per round, KB', packages, 'onDisk', {
      mustReach: 6,
      floor: { onDisk: first?.floorOnDisk ?? Number.NaN },
    })
  },

  async memory(run) {
    const { floor, packages } = await measure(run, 'kept-memory', {}, { hasFloor: true })
    line('memory kept after a turn of 50 rounds, KB', packages, 'kilobytes', { mustReach: 40, floor })
  },

  async http(run) {
    for (const [atOnce, mustReach] of [
      [1, 8],
      [50, 5],
      [200, 4],
    ] as const) {
      const { floor, packages } = await serverTurns(run, { atOnce, seconds: 6 })
      line(`HTTP turn, SQLite, ${atOnce} at once, CPU ms`, packages.map(asMeasured), 'cpuMs', { mustReach, floor: asMeasured(floor) })
    }
    const { floor, packages } = await serverTurns(run, { atOnce: 200, seconds: 8, paceMs: 5 })
    const what = 'HTTP, a paced model, 200 at once'
    line(`${what}, ms between turns`, packages.map(pausesOf), 'between', { mustReach: 1_000 / 85, floor: pausesOf(floor) })
    line(`${what}, p99, ms`, packages.map(asMeasured), 'p99', { mustReach: 2_100, floor: asMeasured(floor) })
  },

  async import(run) {
    const { floor, packages } = await measure({ ...run, processes: 3 * run.processes }, 'import', {}, { hasFloor: true })
    line('import with a store and a scripted model, ms', packages, 'ms', { mustReach: 90, floor })
  },
}

async function serverTurns({ packages, processes, profiles }: RunOptions, load: Parameters<typeof measureServer>[2]) {
  const folders = Object.values(packages)
  const execArgv = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(profiles, 'server')}`]
  let floor: ServerTurns | undefined
  let best: (ServerTurns | undefined)[] = folders.map(() => undefined)
  for (let take = 0; take < processes; take++) {
    floor = better(floor, await measureServer(folders[0] as string, 'floor', { ...load, seconds: load.seconds / 3 }))
    const taken: ServerTurns[] = []
    for (const folder of folders) taken.push(await measureServer(folder, 'daybook', load, execArgv))
    best = best.map((turns, n) => better(turns, taken[n] as ServerTurns))
  }
  return { floor: floor as ServerTurns, packages: best as readonly ServerTurns[] } // at least one process ran
}

const better = (best: ServerTurns | undefined, taken: ServerTurns) => (best && best.cpuMs <= taken.cpuMs ? best : taken)
const asMeasured = ({ cpuMs, p99 }: ServerTurns): Measured => ({ cpuMs, p99 })
const pausesOf = ({ turnsPerSecond }: ServerTurns): Measured => ({ between: 1_000 / turnsPerSecond })

/** Prints one line: the value of each package with the processor time of its thread, the value of the floor, and the budget. */
function line(
  what: string,
  packages: readonly Measured[],
  name: string,
  { mustReach, floor }: { readonly mustReach: number; readonly floor: Measured },
): void {
  const valuesOf = (key: string) => packages.map((values) => values[key])
  const [numbers, cpu] = [valuesOf(name), valuesOf(`${name}Cpu`)]
  const columns = [
    what.padEnd(58),
    ...numbers.map((value, n) => `${numberText(value)}${cpu[n] === undefined ? '' : ` (cpu ${numberText(cpu[n]).trim()})`}`.padEnd(22)),
    `floor ${numberText(floor[name])}`,
    `(budget ${numberText(mustReach).trim()})`,
    (numbers[0] ?? Number.NaN) <= mustReach ? 'ok' : 'OVER',
  ]
  console.log(columns.join(' '))
}

const numberText = (value: number | undefined) =>
  (value === undefined ? '-' : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)).padStart(7)
