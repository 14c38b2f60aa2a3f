import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { createRenderer } from '../../src/core/render/render.ts'
import type { Part } from '../../src/core/render/types.ts'
import { currentTurnIdOf } from '../../src/core/render/walk.ts'
import type { Model } from '../../src/ports/model.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { prompt } from '../../src/testing/blocks.ts'
import { appended, owner } from '../../src/testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openFolderStore, openTestStore, runsOf } from '../support/stores.ts'

/** The text of a prompt. The number of newlines between its parts depends on the cache marks, so it is not compared. */
const textOf = (parts: readonly Part[]): string =>
  parts
    .map((part) => (part.type === 'text' ? part.text : part.type))
    .join('\n')
    .replaceAll(/\n+/g, '\n')

/** A model that compares each prompt with the stored timeline, which another store reads and renders anew. */
function comparingModel(stored: ConversationStore, differences: string[]) {
  const answers = scriptedModel(
    Array.from(
      { length: 500 },
      (_, n) =>
        ({ role }) =>
          role === 'compaction' ? `Summary ${n}.` : reply.answer(`Answer ${n}. `.repeat(300)),
    ),
  )
  const model: Model & { compared: number; conversationId: string } = {
    name: 'comparing',
    window: answers.window,
    compared: 0,
    conversationId: 'c1',
    async *stream(request, signal) {
      if (request.role === 'decision') {
        const { timeline } = (await stored.loadVisible(model.conversationId)) ?? {}
        const fresh = timeline && createRenderer().render(timeline, { currentTurnId: currentTurnIdOf(timeline) ?? '', points: () => [] })
        model.compared++
        if (!fresh || !textOf(request.parts).startsWith(textOf(fresh.parts))) differences.push(textOf(request.parts))
      }
      yield* answers.stream(request, signal)
    },
  }
  return model
}

type Step = { readonly act: 'say' | 'delete' | 'import' | 'fork' | 'append' | 'rename' | 'offer' | 'retain'; readonly by: 0 | 1 }

const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom('say', 'say', 'say', 'say', 'delete', 'import', 'fork', 'append', 'rename', 'offer', 'retain'),
    by: fc.constantFrom(0, 1),
  }),
  { minLength: 4, maxLength: 16 },
)

/** Two agents, each with a store of its own on one folder, as two processes have them, and a third store that both do not know. */
async function playSteps(folder: string, plan: readonly Step[]) {
  const clock = createFixedClock()
  const open = () => openFolderStore(folder, { clock })
  const stores = [await open(), await open(), await open()] as const
  const outside = stores[2]
  const differences: string[] = []
  let loads = 0
  const agents = [stores[0], stores[1]].map((store) => {
    const model = comparingModel(outside, differences)
    const loadVisible: ConversationStore['loadVisible'] = (id) => {
      loads++
      return store.loadVisible(id)
    }
    // a small context, so that turns compact the timeline
    return { model, agent: createAgentFrom({ model, store: { ...store, loadVisible }, clock, settings: { contextTokens: 6_000 } }) }
  })
  const bundle = await firstBundle(outside, clock)
  for (const [index, { act, by }] of plan.entries()) {
    clock.advance(60_000)
    const { agent, model } = agents[by] as (typeof agents)[number]
    const exists = (await outside.head('c1')) !== undefined
    if (act === 'say') await agent.run('c1', `Message ${index}. `.repeat(300)).result
    else if (act === 'delete' && exists) await (by === 0 ? agent.archive.delete('c1') : outside.delete('c1'))
    else if (act === 'import') {
      if (exists) await outside.delete('c1')
      await outside.importBundle(bundle, { as: 'c1' })
    } else if (act === 'fork') {
      await agent.run('c1', `Message ${index}.`).result // a fork needs a finished turn
      await agent.archive.fork('c1', `fork-${index}`)
      model.conversationId = `fork-${index}`
      await agent.run(`fork-${index}`, 'And here?').result
      model.conversationId = 'c1'
    } else if (act === 'append') {
      const claim = await outside.claim('c1', owner('outside'))
      const next = (await outside.loadVisible('c1'))?.timeline.nextBlock ?? 1
      await outside.append(claim, [appended([prompt(`Appended ${index}.`, 'outside')], next)])
      await outside.release(claim)
    } else if (act === 'rename' && exists) await agent.archive.rename('c1', `Title ${index}`)
    else if (act === 'offer' && exists)
      await outside.offer('c1', { event_id: `offer-${index}`, kind: 'external', ts: clock.now(), text: `Offered ${index}.` })
    else if (act === 'retain') await outside.retain({ historyBefore: clock.now() })
  }
  for (const { agent } of agents) await agent.close()
  for (const store of stores) await store.close()
  const said = agents.reduce((sum, { model }) => sum + model.compared, 0)
  return { differences, said, loads }
}

/** A conversation that an agent has exported, in which other messages were written. */
async function firstBundle(store: ConversationStore, clock: ReturnType<typeof createFixedClock>) {
  const agent = createAgentFrom({ model: scriptedModel([reply.answer('Imported.'), reply.answer('Also.')]), store, clock })
  await agent.run('source', 'Of the bundle').result
  await agent.run('source', 'Of the bundle, too').result
  const bundle = await agent.archive.exportBundle('source')
  await agent.close()
  return bundle
}

it('every prompt shows what is stored, even if other agents, deletions, imports, forks or retention came between the turns', async () => {
  let compared = 0
  let loaded = 0
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const folder = mkdtempSync(join(tmpdir(), 'daybook-kept-timelines-'))
      try {
        const { differences, said, loads } = await playSteps(folder, plan)
        compared += said
        loaded += loads
        expect(differences).toEqual([])
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: runsOf(40) },
  )
  expect(compared).toBeGreaterThan(runsOf(40))
  expect(loaded).toBeLessThan(compared) // some turns used the timeline of the turn before
})

it('a second turn loads no timeline and asks for no offers, unless another agent has written or an event was offered', async () => {
  const clock = createFixedClock()
  const shared = await openTestStore({ clock })
  const asked: string[] = []
  const store: ConversationStore = {
    ...shared,
    loadVisible(id) {
      asked.push('timeline')
      return shared.loadVisible(id)
    },
    readOffers(id) {
      asked.push('offers')
      return shared.readOffers(id)
    },
  }
  const open = () => createAgentFrom({ model: scriptedModel(Array.from({ length: 9 }, () => reply.answer('Yes.'))), store, clock })
  const [first, second] = [open(), open()]
  const askedBy = async (agent: typeof first) => {
    asked.length = 0
    await agent.run('c1', 'Well?').result
    return [...asked]
  }
  expect(await askedBy(first)).toEqual([])
  expect(await askedBy(first)).toEqual([])
  expect(await askedBy(second)).toEqual(['timeline'])
  expect(await askedBy(second)).toEqual([])
  expect(await askedBy(first)).toEqual(['timeline'])
  await shared.offer('c1', { event_id: 'e1', kind: 'external', ts: clock.now(), text: 'News.' })
  expect(await askedBy(first)).toContain('offers')
})
