/**
 * A process that appends to several conversations in PostgreSQL until it is killed:
 *
 *   node postgres-child.ts <url> <name> …
 *
 * It begins after a line on its standard input, and prints `<name> <seq>` for each append that has resolved.
 */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createOwner } from '../../src/agent/conversation/claim.ts'
import { appendNumbered } from '../support/crash/numbered-entries.ts'

const [url = '', ...names] = process.argv.slice(2)
const clock = createSystemClock()
const store = await createPostgresStore({ url, clock, maxConnections: 4 })
const owner = createOwner(clock)
await once(process.stdin, 'data')
await Promise.all(
  names.map((name) => appendNumbered(store, name, owner, { onAppended: (seq) => writeSync(1, `${name} ${seq}\n`), isOver: () => false })),
)
