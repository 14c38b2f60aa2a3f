/** A process made to be killed: told to go, it appends numbered changes and says each time what was acknowledged. */
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
const say = (line: string) => writeSync(1, `${line}\n`)

await once(process.stdin, 'data')
process.stdin.destroy()
try {
  const store = await createSqliteStore({ file, blobs: createFileBlobs({ folder: blobs }), clock: createSystemClock() })
  const claim = await store.claim(conversation, { id: owner, host: 'here', pid: process.pid }, { takeOver: 'always' })
  let next = (await store.loadVisible(conversation))?.timeline.nextBlock ?? 1
  say('claimed')
  for (let n = 0; n < Number(appends); n++, next += 2) {
    const entries = await store.append(claim, changesFrom(next, owner))
    say(`acknowledged ${entries.at(-1)?.seq}`)
  }
  await store.close()
  say('done')
} catch (error) {
  if (!(error instanceof Failure)) throw error
  say(`failed ${error.code}`)
}
