import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'

/** The machine's own time and chance. */
export function createSystemClock(): Clock {
  return {
    now: () => new Date().toISOString(),
    randomHex: (digits) =>
      randomBytes(Math.ceil(digits / 2))
        .toString('hex')
        .slice(0, digits),
  }
}
