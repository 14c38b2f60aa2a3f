import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** Random text, which no store can compress. */
export const randomText = (length) => randomBytes(length).toString('base64').slice(0, length)

/**
 * Calls `turn` for each of the turns. Prints how long a round takes, and how many bytes of log a round writes in the first turns and in the
 * last turns.
 */
export async function measure({ url, rounds, turns }, turn) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const position = async () => Number((await client.query(`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS at`)).rows[0].at)
  const [times, written] = [[], []]
  for (let n = 0; n < turns; n++) {
    const before = await position()
    const started = performance.now()
    await turn(n)
    times.push((performance.now() - started) / rounds)
    written.push(((await position()) - before) / rounds)
  }
  await client.end()
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length
  const ms = [...times.slice(5)].sort((a, b) => a - b)[Math.floor((times.length - 5) / 2)]
  console.log(JSON.stringify({ ms, first: mean(written.slice(1, 11)), last: mean(written.slice(-10)) }))
  process.exit(0)
}
