import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'

/** Drawn at once and used up piece by piece: asking the system costs more than what it gives. */
const POOL_BYTES = 4_096
const POOL_DIGITS = 2 * POOL_BYTES

/** The machine's own time and chance. */
export function createSystemClock(): Clock {
  let pool = ''
  let used = POOL_DIGITS
  let time = Number.NaN
  let text = ''

  return {
    now() {
      const now = Date.now()
      if (now !== time) text = new Date(now).toISOString()
      time = now
      return text
    },
    randomHex(digits) {
      if (digits > POOL_DIGITS) throw new RangeError(`${digits} digits of chance are more than anyone needs`)
      if (used + digits > POOL_DIGITS) {
        pool = randomBytes(POOL_BYTES).toString('hex')
        used = 0
      }
      used += digits
      return pool.slice(used - digits, used)
    },
  }
}
