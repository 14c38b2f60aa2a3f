import type { Database } from './database.ts'

/**
 * The server is asked for its time again after this many milliseconds, because its clock may be set, and because clocks run at slightly
 * different speeds.
 */
const RENEW_MS = 5_000

/** If the difference between the clocks is known only roughly, the server is asked again after this many milliseconds. */
const RENEW_ROUGH_MS = 200

/** An answer that took at most this long, in milliseconds, is precise. */
const PRECISE_MS = 20

/** By how much the clocks of a process and of the server may drift apart, as a part of the time that has passed. */
const DRIFT = 0.0005

/**
 * The difference between the clock of the server and the clock of this process, as an answer of the server shows it. It is between
 * `least` and `most`. The exact value is unknown, because the server read its clock at an unknown moment between the question and the
 * answer.
 */
interface Difference {
  readonly least: number
  readonly most: number
  /** When the answer arrived, by the clock of this process. */
  readonly at: number
}

/**
 * Returns a function that returns the time of the PostgreSQL server. All processes measure leases and the age of offers by this clock,
 * because their own clocks may differ. The server is asked rarely. Between two questions, the elapsed time is measured with the monotonic
 * clock of this process.
 *
 * In a busy process, the question may wait long for a connection, and the answer for the processor. Such an answer is imprecise. So it does
 * not replace the known range of the difference, but only narrows it if possible:
 *
 *   known so far        ├──┤
 *   a slow answer     ├────────────────┤      nothing changes
 *   a fast answer        ├──┤                 the overlap of both is used
 *   the clock was set            ├──┤         only the new answer is used
 */
export async function readServerTime(database: Pick<Database, 'all'>): Promise<() => string> {
  const ask = async (): Promise<Difference> => {
    const before = performance.now()
    const [row] = await database.all<{ now: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now')
    const after = performance.now()
    const time = row?.now ?? Date.now()
    return { least: time - after, most: time - before, at: after }
  }
  let known = await ask()
  let askedAt = known.at
  let asking = false
  function renew(): void {
    asking = true
    ask()
      .then((answer) => {
        known = narrow(known, answer)
        askedAt = answer.at
      })
      .catch(() => {}) // after a failure, the known difference is still good enough, and the next call asks again
      .finally(() => {
        asking = false
      })
  }
  return () => {
    const now = performance.now()
    const renewMs = known.most - known.least > PRECISE_MS ? RENEW_ROUGH_MS : RENEW_MS
    if (now - askedAt > renewMs && !asking) renew()
    return new Date(now + (known.least + known.most) / 2).toISOString()
  }
}

/**
 * Combines the known range with the range of a new answer. If the two ranges do not overlap, the clock of the server was set, and only the
 * new answer is used.
 */
function narrow(known: Difference, answer: Difference): Difference {
  const drift = (answer.at - known.at) * DRIFT
  const least = Math.max(known.least - drift, answer.least)
  const most = Math.min(known.most + drift, answer.most)
  return least <= most ? { least, most, at: answer.at } : answer
}
