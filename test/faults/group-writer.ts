/**
 * A process that tests kill. It appends to many conversations at the same time, so that their appends share transactions. After a line on
 * stdin it begins. It prints each `seq` that the store acknowledges, and each failure.
 */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { Failure } from '../../src/core/failure.ts'
import type { Change } from '../../src/core/timeline/change.ts'

const [file = '', blobs = '', count = '0'] = process.argv.slice(2)
const print = (line: string) => writeSync(1, `${line}\n`)

await once(process.stdin, 'data')
process.stdin.destroy()
const store = await createSqliteStore({ file, blobs: createFileBlobs({ folder: blobs }), clock: createSystemClock() })
const owner = { id: `writer-${process.pid}`, host: 'here', pid: process.pid }

const titled = (text: string): Change => ({ type: 'title.set', ts: '2026-01-01T00:00:00.000Z', title: text })

async function work(id: string): Promise<void> {
  const claim = await store.claim(id, owner, { takeOver: 'always' })
  for (let n = 0; ; n++) {
    const entries = await store.append(claim, [titled(`first of ${n} ${'.'.repeat(100)}`), titled(`second of ${n}`)])
    print(`acknowledged ${id} ${entries.at(-1)?.seq}`)
  }
}

const names = Array.from({ length: Number(count) }, (_, index) => `c${index}`)
const ends = await Promise.allSettled(names.map(work))
for (const end of ends) {
  const reason: unknown = end.status === 'rejected' ? end.reason : undefined
  print(`failed ${reason instanceof Failure ? reason.code : String(reason)}`)
}
