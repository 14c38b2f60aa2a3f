import { randomFillSync } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'

/** Drawn at once and used up piece by piece: asking the system costs more than what it gives. */
const POOL_BYTES = 4_096

/** The machine's own time and chance. */
export function createSystemClock(): Clock {
  const pool = Buffer.allocUnsafe(POOL_BYTES)
  let used = POOL_BYTES
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
      const bytes = Math.ceil(digits / 2)
      if (bytes > POOL_BYTES) throw new RangeError(`${digits} digits of chance are more than anyone needs`)
      if (used + bytes > POOL_BYTES) {
        randomFillSync(pool)
        used = 0
      }
      used += bytes
      return pool.toString('hex', used - bytes, used).slice(0, digits)
    },
  }
}
