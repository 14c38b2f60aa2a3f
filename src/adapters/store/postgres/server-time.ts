import type { Database } from './database.ts'

/** How often the time of the server is asked again, at most: its clock may be set, and clocks run at slightly different speeds. */
const RENEW_MS = 5_000

/**
 * Returns a function that tells the time of the PostgreSQL server. All processes measure leases by this clock, because their own clocks may
 * differ. The server is asked rarely. In between, the time that has passed is measured by a clock of this process that is never set.
 */
export async function readServerTime(database: Pick<Database, 'all'>): Promise<() => string> {
  const ask = async () => {
    const before = performance.now()
    const [row] = await database.all<{ now: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
    return { time: row?.now ?? Date.now(), at: (before + performance.now()) / 2 }
  }
  let known = await ask()
  let asking = false
  function renew(): void {
    asking = true
    ask()
      .then((answer) => {
        known = answer
      })
      .catch(() => {}) // the known time is still good enough, and the next call asks again
      .finally(() => {
        asking = false
      })
  }
  return () => {
    const passed = performance.now() - known.at
    if (passed > RENEW_MS && !asking) renew()
    return new Date(known.time + passed).toISOString()
  }
}
