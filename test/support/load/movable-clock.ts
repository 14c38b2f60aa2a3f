import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import type { Clock } from '../../../src/ports/clock.ts'

const FILE = 'clock'

/** By how many milliseconds the clocks of a folder are ahead of the time of the machine. */
function shiftIn(folder: string): number {
  try {
    return Number(readFileSync(join(folder, FILE), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

/** A clock that all processes of a folder share. A test can move it, so that it need not wait for the end of a lease. */
export function createMovableClock(folder: string): Clock {
  const { randomHex } = createSystemClock()
  return { now: () => new Date(Date.now() + shiftIn(folder)).toISOString(), randomHex }
}

/** Moves the clocks of a folder forward. */
export function advanceClock(folder: string, ms: number): void {
  writeFileSync(join(folder, FILE), String(shiftIn(folder) + ms))
}
