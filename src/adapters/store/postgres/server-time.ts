import type { Database } from './database.ts'

/** How often the time of the server is asked again, at most: its clock may be set, and clocks run at slightly different speeds. */
const RENEW_MS = 5_000

/** If the difference is known only roughly, the server is asked again after this time. */
const RENEW_ROUGH_MS = 200

/** An answer that took at most this long, in milliseconds, is precise. */
const PRECISE_MS = 20

/** By how much the clocks of a process and of the server may drift apart, as a part of the time that has passed. */
const DRIFT = 0.0005

/**
 * What an answer of the server says about the difference between its clock and the clock of this process: it is between `least` and `most`.
 * The server read its clock at some moment between the question and the answer, and nothing says when.
 */
interface Difference {
  readonly least: number
  readonly most: number
  /** When the answer arrived, by the clock of this process. */
  readonly at: number
}

/**
 * Returns a function that tells the time of the PostgreSQL server. All processes measure leases and the age of offers by this clock, because
 * their own clocks may differ. The server is asked rarely. In between, the time that has passed is measured by a clock of this process that
 * is never set.
 *
 * In a busy process, the question may wait long for a connection, and the answer for the processor. Such an answer does not replace what
 * earlier answers have said, but narrows it down if it can:
 *
 *   known so far        ├──┤
 *   a slow answer     ├────────────────┤      nothing changes
 *   a fast answer        ├──┤                 both limits count
 *   the clock was set            ├──┤         only the new answer counts
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
      .catch(() => {}) // the known time is still good enough, and the next call asks again
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

/** Combines what is known with a new answer. If both can not be true, the clock of the server was set, and only the answer counts. */
function narrow(known: Difference, answer: Difference): Difference {
  const drift = (answer.at - known.at) * DRIFT
  const least = Math.max(known.least - drift, answer.least)
  const most = Math.min(known.most + drift, answer.most)
  return least <= most ? { least, most, at: answer.at } : answer
}
