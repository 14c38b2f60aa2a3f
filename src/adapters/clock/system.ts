import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'

/** How many random bytes one call requests from the system. Requesting the bytes of each id separately would take 3 µs per id. */
const POOL_BYTES = 4_096
const POOL_DIGITS = 2 * POOL_BYTES

/** The clock of the machine, and random numbers of the system. */
export function createSystemClock(): Clock {
  let pool = ''
  let used = POOL_DIGITS
  let lastTime = Number.NaN
  let lastText = '' // the time `lastTime` as text: formatting it again would take 3 µs per round

  return {
    now() {
      const time = Date.now()
      if (time !== lastTime) lastText = new Date(time).toISOString()
      lastTime = time
      return lastText
    },
    randomHex(digits) {
      if (digits > POOL_DIGITS) throw new RangeError(`randomHex gives at most ${POOL_DIGITS} digits, not ${digits}`)
      if (used + digits > POOL_DIGITS) {
        pool = randomBytes(POOL_BYTES).toString('hex')
        used = 0
      }
      used += digits
      return pool.slice(used - digits, used)
    },
  }
}
