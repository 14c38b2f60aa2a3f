/**
 * A process that tests kill. It fires the schedules of a store again and again, with a clock that jumps forward and back by hours. It prints
 * a line after each time.
 */
import { writeSync } from 'node:fs'
import { setImmediate as nextTask } from 'node:timers/promises'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'

const [place = '', blobs = ''] = process.argv.slice(2)
let jump = 0
const clock = { ...createSystemClock(), now: () => new Date(Date.now() + jump).toISOString() }
const store = place.startsWith('postgres:')
  ? await createPostgresStore({ url: place, clock, leaseTime: 'clock' })
  : await createSqliteStore({ file: place, blobs: createFileBlobs({ folder: blobs }), clock })

for (;;) {
  jump = (Math.random() - 0.5) * 8 * 3_600_000
  const fired = await store.schedules?.fire()
  writeSync(1, `${fired?.fired}\n`)
  await nextTask()
}
