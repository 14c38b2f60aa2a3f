import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { prompt } from '../../../testing/blocks.ts'
import { appended, closed, journalOf, opened, owner } from '../../../testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../../testing/conformance/store/memory.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createSqliteStore } from './store.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-power-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const blobs = createMemoryBlobs()
const open = (name: string) => createSqliteStore({ file: join(folder, name), blobs, clock: createFixedClock() })
const logLength = () => readFileSync(join(folder, 'a.db-wal')).length

it('a power cut after an append loses nothing of it, wherever it cuts the leases and the memory index that follow', async () => {
  const store = await open('a.db')
  const texts = ['river', 'harbour', 'bridge']
  for (const [n, text] of texts.entries()) {
    const claim = await store.claim('c1', owner('a'))
    await store.append(claim, [opened(`t${n}`), appended([prompt(text, `t${n}`)], n + 1), closed(`t${n}`)])
    if (n < texts.length - 1) {
      await store.release(claim)
      await memoryOf(store).catchUp()
      continue
    }
    const synced = logLength()
    await store.renew(claim)
    await store.release(claim)
    await memoryOf(store).catchUp()
    await store.claim('c1', owner('b'))
    const frame = 24 + readFileSync(join(folder, 'a.db-wal')).readUInt32BE(8)
    const journal = await journalOf(store, 'c1')
    const found = new Map(
      await Promise.all(texts.map(async (word) => [word, await memoryOf(store).search(word, inConversation('c1'))] as const)),
    )
    let cuts = 0
    for (let length = synced; length <= logLength(); length += frame / 2) {
      const name = `cut-${cuts++}.db`
      copyFileSync(join(folder, 'a.db'), join(folder, name))
      copyFileSync(join(folder, 'a.db-wal'), join(folder, `${name}-wal`))
      truncateSync(join(folder, `${name}-wal`), length)
      const after = await open(name)
      expect(await journalOf(after, 'c1')).toEqual(journal)
      for (const word of texts) expect(await memoryOf(after).search(word, inConversation('c1'))).toEqual(found.get(word))
      const next = await after.claim('c1', owner('c'), { takeOver: 'always' })
      await after.append(next, [opened('t9'), closed('t9')])
      expect(await journalOf(after, 'c1')).toHaveLength(journal.length + 2)
      await after.close()
    }
    expect(cuts).toBeGreaterThan(20)
  }
  await store.close()
})
