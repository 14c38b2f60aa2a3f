import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { BlobRef } from '../../../core/block/index.ts'
import { userPromptBlock } from '../../../core/block/message.ts'
import { minute, withIds } from '../../../testing/blocks.ts'
import { writeConversation } from '../../../testing/conformance/store-fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { findUnreferenced, sweepUnreferenced } from './remove.ts'
import { createSqliteStore } from './store.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-unreferenced-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const referringTo = (blob: BlobRef) => ({
  type: 'blocks.appended' as const,
  blocks: withIds([userPromptBlock('t1', minute(0), 'look')]).map((block) => ({ ...block, blob })),
})

it('sweeps what nobody refers to, and nothing that got its entry after it was suspected', async () => {
  const blobs = createMemoryBlobs()
  const file = join(root, 'daybook.db')
  const store = await createSqliteStore({ file, blobs, clock: createFixedClock() })
  const put = (text: string) => blobs.put(new TextEncoder().encode(text))
  const [before, after] = [await put('entered before'), await put('entered after')]
  const lost = await Promise.all(Array.from({ length: 200 }, (_, n) => put(`lost ${n}`)))
  await writeConversation(store, 'c1', [referringTo(before)])
  const suspects = findUnreferenced(file, [before, after, ...lost])
  expect(suspects).toEqual([after, ...lost])
  await writeConversation(store, 'c2', [referringTo(after)])
  const asked: string[] = []
  const removed = await sweepUnreferenced(file, suspects, async (sha256) => asked.push(sha256) % 2 === 0)
  expect(asked).toEqual(lost.map(({ sha256 }) => sha256))
  expect(removed).toEqual(lost.filter((_, n) => n % 2 === 1))
  await store.close()
})
