import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createSystemClock } from '../../adapters/clock/system.ts'
import { errorMessage } from '../../core/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import { type ConversationStore, LEASE_MS } from '../../ports/store.ts'

/** Where the store of one scenario is. It is data, so that a child process can open the same store. */
export interface TorturePlace {
  /** A folder of its own for the store. */
  readonly folder: string
  /** The folder for notes that processes write outside of the store: acknowledged writes, effects of tools and calls of the model. */
  readonly records: string
  readonly databaseUrl?: string
  /** The schema of the scenario in the database. */
  readonly schema?: string
  /** The path of a module that opens the store, for a store of the user. */
  readonly module?: string
  /** Whether the processes wait in real time until leases end. By default the clock that they share is moved forward instead. */
  readonly realTime?: boolean
}

/** What `daybook torture --store-module` passes to the function `openStore` of the module: the place of the store that it opens. */
export interface StoreModulePlace {
  /** A folder in which the store may write. The folder is empty at first, and all processes of a scenario get the same folder. */
  readonly folder: string
  /** The address of the option `--database`. */
  readonly databaseUrl?: string
  /** The name of a schema that no other scenario uses. The module creates it. Torture drops it, if `--database` is set. */
  readonly schema?: string
  /** The clock by which leases have to end. Torture moves it forward. */
  readonly clock: Clock
}

export interface OpenPlace {
  readonly store: ConversationStore
  readonly clock: Clock
}

const CLOCK_FILE = 'clock'

/** Opens the store of a scenario. Every process of the scenario does so. */
export async function openPlace(place: TorturePlace): Promise<OpenPlace> {
  const clock = place.realTime ? createSystemClock() : movableClock(place.records)
  return { store: await openStore(place, clock), clock }
}

async function openStore(place: TorturePlace, clock: Clock): Promise<ConversationStore> {
  const { folder, databaseUrl, schema, module, realTime } = place
  if (module !== undefined) {
    const loaded = await importModule(module)
    if (typeof loaded.openStore !== 'function') throw new RangeError(`${module} must export a function \`openStore\``)
    const given = { folder, clock, ...(databaseUrl !== undefined && { databaseUrl }), ...(schema !== undefined && { schema }) }
    return (await loaded.openStore(given)) as ConversationStore
  }
  if (databaseUrl !== undefined && schema !== undefined) {
    const { createPostgresStore } = await import('../../adapters/store/postgres/store.ts')
    const leaseTime = realTime ? 'database' : 'clock'
    return createPostgresStore({ url: databaseUrl, schema, clock, leaseTime, maxConnections: 5, applicationName: 'daybook-torture' })
  }
  const { createSqliteStore } = await import('../../adapters/store/sqlite/store.ts')
  const { createFileBlobs } = await import('../../adapters/blobs/file.ts')
  return createSqliteStore({ file: join(folder, 'daybook.db'), blobs: createFileBlobs({ folder: join(folder, 'blobs') }), clock })
}

async function importModule(file: string): Promise<{ readonly openStore?: (place: StoreModulePlace) => unknown }> {
  try {
    return await import(pathToFileURL(file).href)
  } catch (error) {
    throw new RangeError(`cannot load ${file}: ${errorMessage(error)}`, { cause: error })
  }
}

/** How the clock of a scenario differs from that of the machine. It is in a file, which all processes read. */
interface ClockState {
  readonly shiftMs: number
  /** The time at which the clock was stopped. */
  readonly stoppedAt?: number
}

/** A clock that all processes of a scenario share. */
function movableClock(records: string): Clock {
  const { randomHex } = createSystemClock()
  const now = () => {
    const { shiftMs, stoppedAt = Date.now() } = readClock(records)
    return new Date(stoppedAt + shiftMs).toISOString()
  }
  return { now, randomHex }
}

function readClock(records: string): ClockState {
  const file = join(records, CLOCK_FILE)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ClockState) : { shiftMs: 0 }
}

/** Writes the file in one step, so that other processes never read an incomplete file. */
function writeClock(records: string, state: ClockState): void {
  const file = join(records, CLOCK_FILE)
  writeFileSync(`${file}.new`, JSON.stringify(state))
  renameSync(`${file}.new`, file)
}

/** Lets time pass for all processes of a scenario. */
export async function passTime({ records, realTime }: TorturePlace, ms: number): Promise<void> {
  if (realTime) return void (await sleep(ms))
  const state = readClock(records)
  writeClock(records, { ...state, shiftMs: state.shiftMs + ms })
}

/**
 * From now on, time passes only with `passTime`. So no lease ends because the machine is slow. This has no effect if the scenario runs in
 * real time.
 */
export function stopTime({ records, realTime }: TorturePlace): void {
  if (!realTime) writeClock(records, { ...readClock(records), stoppedAt: Date.now() })
}

/** A time after which every lease that is not renewed has expired, in milliseconds. */
export const PAST_LEASE_MS = LEASE_MS + 2_000
