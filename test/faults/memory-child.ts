/**
 * A process that tests kill while it writes to the memory index. It appends turns, lets the index catch up with conversations that are not
 * indexed, and makes vectors with as many numbers as its last argument says. It prints a line after each append.
 */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { completion, minute, prompt } from '../../src/testing/blocks.ts'
import { appended, closed, opened } from '../../src/testing/conformance/store/fixture.ts'
import { startVectors } from '../../src/tools/recall/vectors.ts'
import { openFolderStore } from '../support/stores.ts'
import { createTestEmbedder } from './memory-embedder.ts'

const [folder = '', round = '0', dimensions = '8'] = process.argv.slice(2)
await once(process.stdin, 'data')
process.stdin.destroy()
const store = await openFolderStore(folder)
const owner = { id: `writer-${process.pid}`, host: 'here', pid: process.pid }
const working = store.memory?.catchUp() // at the same time as the appends
const reported = (error: unknown) => process.stderr.write(`${error}\n`)
if (store.memory) startVectors(store.memory.vectors, createTestEmbedder(Number(dimensions)), reported, { idleMs: 1, waitMs: 1 })
for (let n = 0; ; n++) {
  const [id, turnId] = [`acme/web/u${n % 3}/c${round}_${n % 5}`, `t${n}`]
  const claim = await store.claim(id, owner, { takeOver: 'always' })
  const long = `round ${round} message ${n} ${'about rivers and bridges '.repeat(n % 7 === 0 ? 400 : 3)}`
  await store.append(claim, [opened(turnId), appended([prompt(long, turnId, n)], 2 * n + 1)])
  await store.append(claim, [appended([completion(`answer ${n} with fooBar_${n}`, turnId, n)], 2 * n + 2), closed(turnId)])
  writeSync(1, `${minute(n)}\n`)
  if (n === 20) await working
}
