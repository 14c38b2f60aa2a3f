import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { prompt } from '../../testing/blocks.ts'
import { appended, owner } from '../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createKeptTimelines } from './kept-timelines.ts'
import { createRenderers } from './renderers.ts'

const createAgent = () => ({
  store: createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() }),
  createRenderers: () => createRenderers(roughTokens, () => true),
})
type TestAgent = ReturnType<typeof createAgent>

/** Claims a conversation, appends a message, and keeps the timeline. */
async function writeAndKeep(agent: TestAgent, kept: ReturnType<typeof createKeptTimelines>, id: string, text: string) {
  const claim = await agent.store.claim(id, owner('a'))
  const { timeline } = (await kept.open(agent, claim)).saved
  await agent.store.append(claim, [appended([prompt(text)], timeline.nextBlock)])
  const saved = await agent.store.loadVisible(id)
  if (!saved) throw new Error('the conversation is stored')
  const renderers = agent.createRenderers()
  kept.keep(agent, claim, { saved, renderers })
  await agent.store.release(claim)
  return { saved, renderers }
}

const claimAndOpen = async (agent: TestAgent, kept: ReturnType<typeof createKeptTimelines>, id: string) =>
  kept.open(agent, await agent.store.claim(id, owner('a')))

it('gives back the timeline and its renderers while no other claim came between', async () => {
  const [agent, kept] = [createAgent(), createKeptTimelines(4_000_000)]
  const { saved, renderers } = await writeAndKeep(agent, kept, 'c1', 'hello')
  const opened = await claimAndOpen(agent, kept, 'c1')
  expect(opened.saved).toBe(saved)
  expect(opened.renderers).toBe(renderers)
})

it('loads the timeline after another claim, even if it has written nothing', async () => {
  const [agent, kept] = [createAgent(), createKeptTimelines(4_000_000)]
  const { saved, renderers } = await writeAndKeep(agent, kept, 'c1', 'hello')
  await agent.store.release(await agent.store.claim('c1', owner('b')))
  const opened = await claimAndOpen(agent, kept, 'c1')
  expect(opened.saved).not.toBe(saved)
  expect(opened.renderers).not.toBe(renderers)
  expect(blocksOf(opened.saved.timeline)).toEqual(blocksOf(saved.timeline))
})

it('gives back the timeline with new renderers when the agent has other tools', async () => {
  const [agent, kept] = [createAgent(), createKeptTimelines(4_000_000)]
  const { saved, renderers } = await writeAndKeep(agent, kept, 'c1', 'hello')
  const changed = { ...agent, createRenderers: () => createRenderers(roughTokens, () => false) }
  const opened = await kept.open(changed, await agent.store.claim('c1', owner('a')))
  expect(opened.saved).toBe(saved)
  expect(opened.renderers).not.toBe(renderers)
})

it('drops the timelines that were not used for the longest time, so that all together stay below the limit', async () => {
  const limit = 300_000
  const [agent, kept] = [createAgent(), createKeptTimelines(limit)]
  const saved = new Map<string, unknown>()
  for (const id of ['c1', 'c2', 'c3']) saved.set(id, (await writeAndKeep(agent, kept, id, 'x'.repeat(40_000))).saved)
  saved.set('c1', (await writeAndKeep(agent, kept, 'c1', 'again')).saved)
  saved.set('c4', (await writeAndKeep(agent, kept, 'c4', 'x'.repeat(40_000))).saved)
  const isKept = async (id: string) => (await claimAndOpen(agent, kept, id)).saved === saved.get(id)
  expect(kept.bytes).toBeLessThanOrEqual(limit)
  expect({ c1: await isKept('c1'), c2: await isKept('c2'), c3: await isKept('c3'), c4: await isKept('c4') }).toEqual({
    ...{ c1: true, c2: false, c3: true, c4: true },
  })
  expect(kept.bytes).toBe(0)
})

it('keeps only the last timeline if it is larger than the limit, and none of a forgotten conversation', async () => {
  const [agent, kept] = [createAgent(), createKeptTimelines(100_000)]
  await writeAndKeep(agent, kept, 'c1', 'hello')
  const { saved } = await writeAndKeep(agent, kept, 'c2', 'x'.repeat(100_000))
  expect((await claimAndOpen(agent, kept, 'c2')).saved).toBe(saved)
  expect(kept.bytes).toBe(0)
  await writeAndKeep(agent, kept, 'c3', 'hello')
  kept.forget('c3')
  expect(kept.bytes).toBe(0)
})
