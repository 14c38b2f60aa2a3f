import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Block, blockId, toolResultBlock } from '../../src/core/block/index.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { openStore } from '../../src/wiring/store.ts'
import { seed } from '../watched/programs/seed.ts'
import { type CostPerUnit, type Growth, microsFor } from './measure.ts'

const owner = { id: 'growth', host: 'bench', pid: process.pid }
type Kind = 'memory' | 'sqlite'

/** Opens a store for a measurement, and removes it afterwards. */
const withStore =
  (store: Kind, measure: (opened: ConversationStore, size: number) => Promise<number>): CostPerUnit =>
  async (size) => {
    const data = mkdtempSync(join(tmpdir(), 'daybook-growth-'))
    const opened = await openStore({ data, store })
    try {
      return await measure(opened, size)
    } finally {
      await opened.close()
      rmSync(data, { recursive: true, force: true })
    }
  }

/** Appends blocks, and hides every second one of them with an entry of its own. */
function hiddenBlocks(count: number): readonly Change[] {
  return Array.from({ length: count }, (_, n): readonly Change[] => {
    const origin = { turnId: 'turn_1700000000000_aaaaaa', callId: `call${n}`, iteration: n, ts: new Date(1.7e12 + n).toISOString() }
    const blocks: Block[] = [0, 1].map((second) => ({
      id: blockId(2 * n + second + 1),
      ...toolResultBlock(origin, { mime: 'text/markdown', text: `Result ${n}` }),
    }))
    const ids = [blocks[0]?.id ?? '']
    return [
      { type: 'blocks.appended', blocks },
      { type: 'blocks.hidden', ids, replacement_text: 'seen', reason: 'hide' },
    ]
  }).flat()
}

const loading = (name: string, store: Kind, fill: (opened: ConversationStore, size: number) => Promise<void>): Growth => ({
  what: `load of ${name}, ${store}`,
  smallest: 50,
  cost: withStore(store, async (opened, size) => {
    await fill(opened, size)
    const times = []
    for (let n = 0; n < 3; n++) times.push(await microsFor(size, () => opened.loadVisible('c')))
    return Math.min(...times)
  }),
})

const fillWithHides = async (store: ConversationStore, count: number) => {
  await store.append(await store.claim('c', owner), hiddenBlocks(count))
}
const fillWithMessages = (store: ConversationStore, count: number) => seed(store, 'c', count)

const lists = (store: Kind): Growth => ({
  what: `list of 50 among conversations, ${store}`,
  smallest: 100,
  takes: store === 'memory' ? 3 : 1,
  unit: ' per list',
  cost: withStore(store, async (opened, count) => {
    for (let n = 0; n < count; n++) {
      const claim = await opened.claim(`c${n}`, owner)
      await opened.append(claim, [{ type: 'title.set', ts: new Date(1.7e12 + n).toISOString(), title: `Conversation ${n}` }])
      await opened.release(claim)
    }
    const times = []
    for (let n = 0; n < 20; n++) times.push(await microsFor(1, () => opened.list({ limit: 50 })))
    return Math.min(...times)
  }),
})

/** The measurements of a store: with more and more visible messages, hidden blocks, or conversations. */
export const growthOfStores: readonly Growth[] = [
  loading('visible messages', 'memory', fillWithMessages),
  loading('visible messages', 'sqlite', fillWithMessages),
  loading('hides', 'memory', fillWithHides),
  loading('hides', 'sqlite', fillWithHides),
  lists('memory'),
  lists('sqlite'),
]
