import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorMessage } from '../../core/failure.ts'
import { createGenerator } from '../random.ts'
import { withStore } from './checks.ts'
import { freezeScenarios } from './freezes.ts'
import { killScenarios } from './kills.ts'
import { messageScenarios } from './messages.ts'
import { obligationScenarios } from './obligations.ts'
import type { TorturePlace } from './place.ts'
import { killAll } from './processes.ts'
import { raceScenarios } from './races.ts'
import type { Outcome, Rig, Scenario, Violation } from './scenario.ts'
import { violation } from './scenario.ts'
import { writerScenarios } from './writers.ts'

/** All rows of the table, in its order. The obligations come last. */
export const scenarios: readonly Scenario[] = [
  ...killScenarios,
  ...writerScenarios.filter(({ isObligation }) => !isObligation),
  ...freezeScenarios,
  ...raceScenarios,
  ...messageScenarios,
  ...obligationScenarios,
  ...writerScenarios.filter(({ isObligation }) => isObligation),
]

/** Which store is tortured, and for how long. */
export interface TortureOptions {
  /** A folder. Scratch folders are made in it, and removed at the end. */
  readonly folder: string
  /** The address of a PostgreSQL database. Scratch schemas are made in it, and dropped at the end. */
  readonly databaseUrl?: string
  /** The path of a module that opens another store. */
  readonly module?: string
  /** The names of the scenarios. By default all of them. */
  readonly only?: readonly string[]
  /** How often each scenario is run. */
  readonly rounds: number
  /** After this time, no further scenario is started. */
  readonly seconds?: number
  readonly seed: number
  readonly realTime?: boolean
  /** Ends the work. Processes are killed, and everything is removed. */
  readonly signal?: AbortSignal
  onProgress?(progress: TortureProgress): void
}

export interface TortureProgress {
  readonly round: number
  readonly title: string
}

/** The results of all rounds of one scenario. */
export interface TortureRow {
  readonly name: string
  readonly title: string
  readonly isObligation: boolean
  /** How often the scenario was run. 0 if there was no time for it. */
  readonly rounds: number
  readonly faults: number
  readonly checks: number
  readonly seconds: number
  readonly violations: readonly Violation[]
}

/** Runs the scenarios against a store, one after the other. */
export async function torture(options: TortureOptions): Promise<readonly TortureRow[]> {
  const chosen = scenarios.filter(({ name }) => options.only?.includes(name) ?? true)
  const rows = new Map<string, TortureRow>(
    chosen.map(({ name, title, isObligation = false }) => [
      name,
      { name, title, isObligation, rounds: 0, faults: 0, checks: 0, seconds: 0, violations: [] },
    ]),
  )
  const random = createGenerator(options.seed)
  const scratch = createScratch(options)
  const startedAt = performance.now()
  const isOver = () =>
    options.signal?.aborted === true || (options.seconds !== undefined && performance.now() - startedAt > options.seconds * 1_000)
  try {
    // Throws here if the store can not be opened, before a row of the table could report that as a violation.
    await withStore(await scratch.newPlace(), (store) => store.check())
    for (let round = 1; round <= options.rounds && !isOver(); round++) {
      const shared = new Map<string, Promise<unknown>>()
      const rig: Rig = {
        newPlace: scratch.newPlace,
        random,
        once<T>(key: string, work: () => Promise<T>) {
          const known = shared.get(key) as Promise<T> | undefined
          const made = known ?? work()
          shared.set(key, made)
          return made
        },
      }
      for (const scenario of chosen) {
        if (isOver()) break
        options.onProgress?.({ round, title: scenario.title })
        const begun = performance.now()
        const outcome = await interruptible(options.signal, runScenario(scenario, rig))
        if (!outcome) break
        rows.set(scenario.name, addOutcome(rows.get(scenario.name) as TortureRow, outcome, (performance.now() - begun) / 1_000))
      }
      await scratch.clear()
    }
  } finally {
    await killAll()
    await scratch.remove()
  }
  return [...rows.values()]
}

/** If a scenario throws an error, the error is reported as a finding, because a correct store causes no errors. */
async function runScenario(scenario: Scenario, rig: Rig): Promise<Outcome> {
  try {
    const outcome = await scenario.run(rig)
    return outcome.checks > 0 ? outcome : { ...outcome, violations: [...outcome.violations, violation('error', 'nothing was checked')] }
  } catch (error) {
    return { faults: 0, checks: 0, violations: [violation('error', errorMessage(error))] }
  } finally {
    await killAll()
  }
}

/** The result of the work, or undefined as soon as the signal fires. In this case the children are killed, so the work ends too. */
async function interruptible<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T | undefined> {
  if (!signal) return work
  const { promise: interrupted, resolve } = Promise.withResolvers<undefined>()
  const onAbort = () => {
    void killAll()
    resolve(undefined)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  const first = await Promise.race([work, interrupted])
  signal.removeEventListener('abort', onAbort)
  if (signal.aborted) await Promise.race([work, new Promise((end) => setTimeout(end, 5_000).unref())])
  return first
}

const addOutcome = (row: TortureRow, { faults, checks, violations }: Outcome, seconds: number): TortureRow => ({
  ...row,
  rounds: row.rounds + 1,
  faults: row.faults + faults,
  checks: row.checks + checks,
  seconds: row.seconds + seconds,
  violations: [...row.violations, ...violations],
})

/** The folders and schemas of the scenarios. Everything has a random name, so no conversation of the user is touched. */
function createScratch({ folder, databaseUrl, module, realTime }: TortureOptions) {
  const name = `torture-${randomBytes(4).toString('hex')}`
  const records = mkdtempSync(join(tmpdir(), 'daybook-torture-'))
  const root = databaseUrl === undefined ? join(folder, name) : join(records, 'stores')
  let schemas: string[] = []
  let count = 0

  async function clear(): Promise<void> {
    const dropped = schemas
    schemas = []
    if (databaseUrl !== undefined && dropped.length > 0) await dropSchemas(databaseUrl, dropped)
    rmSync(root, { recursive: true, force: true })
  }
  return {
    async newPlace(): Promise<TorturePlace> {
      const number = ++count
      const place = { folder: join(root, String(number)), records: join(records, String(number)) }
      mkdirSync(place.folder, { recursive: true })
      mkdirSync(place.records, { recursive: true })
      const schema = `daybook_${name.replace('-', '_')}_${number}`
      if (databaseUrl !== undefined) schemas.push(schema)
      return {
        ...place,
        ...(databaseUrl !== undefined && { databaseUrl, schema }),
        ...(module !== undefined && { module }),
        ...(realTime && { realTime }),
      }
    },
    clear,
    async remove() {
      await clear()
      rmSync(records, { recursive: true, force: true })
    },
  }
}

async function dropSchemas(url: string, schemas: readonly string[]): Promise<void> {
  const { connectDatabase } = await import('../../adapters/store/postgres/database.ts')
  const database = await connectDatabase({ url, applicationName: 'daybook-torture' })
  try {
    for (const schema of schemas) await database.statements.run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  } finally {
    await database.close()
  }
}
