import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'

/** Digits drawn at once and used up piece by piece: asking the system costs more than what it gives. */
const POOL = 8_192

/** The machine's own time and chance. */
export function createSystemClock(): Clock {
  let pool = ''
  let used = 0
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
      if (digits > POOL) throw new RangeError(`${digits} digits of chance are more than anyone needs`)
      if (used + digits > pool.length) {
        pool = randomBytes(POOL / 2).toString('hex')
        used = 0
      }
      used += digits
      return pool.slice(used - digits, used)
    },
  }
}
