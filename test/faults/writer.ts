/** A process that tests kill. After a line on stdin it appends numbered changes. It prints each `seq` that the store acknowledges. */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { Failure } from '../../src/core/failure.ts'
import { changesFrom } from './contents.ts'

const { values } = parseArgs({
  options: {
    file: { type: 'string' },
    blobs: { type: 'string' },
    conversation: { type: 'string' },
    owner: { type: 'string' },
    appends: { type: 'string' },
  },
})
const { file = '', blobs = '', conversation = '', owner = '', appends = 'Infinity' } = values
const print = (line: string) => writeSync(1, `${line}\n`)

await once(process.stdin, 'data')
process.stdin.destroy()
try {
  const store = await createSqliteStore({ file, blobs: createFileBlobs({ folder: blobs }), clock: createSystemClock() })
  const claim = await store.claim(conversation, { id: owner, host: 'here', pid: process.pid }, { takeOver: 'always' })
  let next = (await store.loadVisible(conversation))?.timeline.nextBlock ?? 1
  print('claimed')
  for (let n = 0; n < Number(appends); n++, next += 2) {
    const entries = await store.append(claim, changesFrom(next, owner))
    print(`acknowledged ${entries.at(-1)?.seq}`)
  }
  await store.close()
  print('done')
} catch (error) {
  if (!(error instanceof Failure)) throw error
  print(`failed ${error.code}`)
}
