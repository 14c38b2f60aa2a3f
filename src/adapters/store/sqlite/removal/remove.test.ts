import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { BlobRef } from '../../../../core/block/index.ts'
import { userPromptBlock } from '../../../../core/block/message.ts'
import { minute, withIds } from '../../../../testing/blocks.ts'
import { writeConversation } from '../../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../../blobs/memory.ts'
import { createSqliteStore } from '../store.ts'
import { findUnreferenced, sweepUnreferenced } from './remove.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-unreferenced-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const referringTo = (blob: BlobRef) => ({
  type: 'blocks.appended' as const,
  blocks: withIds([userPromptBlock('t1', minute(0), 'look')]).map((block) => ({ ...block, blob })),
})

it('removes unreferenced blobs, but none that an entry has referred to since the check', async () => {
  const blobs = createMemoryBlobs()
  const file = join(root, 'daybook.db')
  const store = await createSqliteStore({ file, blobs, clock: createFixedClock() })
  const put = (text: string) => blobs.put(new TextEncoder().encode(text))
  const [before, after] = [await put('referenced before'), await put('referenced after')]
  const lost = await Promise.all(Array.from({ length: 200 }, (_, n) => put(`lost ${n}`)))
  await writeConversation(store, 'c1', [referringTo(before)])
  const candidates = findUnreferenced(file, [before, after, ...lost])
  expect(candidates).toEqual([after, ...lost])
  await writeConversation(store, 'c2', [referringTo(after)])
  const asked: string[] = []
  const removed = await sweepUnreferenced(file, candidates, async (sha256) => asked.push(sha256) % 2 === 0)
  expect(asked).toEqual(lost.map(({ sha256 }) => sha256))
  expect(removed).toEqual(lost.filter((_, n) => n % 2 === 1))
  await store.close()
})
