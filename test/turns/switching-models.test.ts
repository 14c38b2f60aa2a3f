import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { modelFrom } from '../../src/adapters/model/index.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { Dialect } from '../../src/core/model-event.ts'
import type { Model } from '../../src/ports/model.ts'
import { type FakeProvider, type FakeProviderName, startFakeProvider } from '../../src/testing/fake-providers/fake-provider.ts'
import type { FakeReply, FakeRequest } from '../../src/testing/fake-providers/provider-format.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { requestRules } from '../../src/testing/request-rules/index.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { everyProvider, modelNames } from '../support/models/provider-models.ts'
import { png } from '../support/sample-files/images.ts'
import { library, weather } from '../support/scenario-tools.ts'

/** What the model does in a round. */
const steps = [
  'weather',
  'page',
  'image',
  'empty',
  'half',
  'several',
  'broken',
  'unknown',
  'cut',
  'steer',
  'crash',
  'reset',
  'refused',
  'answer',
  'answer',
] as const
type Step = (typeof steps)[number]

const toolOf: Partial<Record<Step, readonly [id: string, params: object]>> = {
  weather: ['weather.today', { city: 'Rome' }],
  page: ['library.fetch', { page: 1 }],
  image: ['host.image', {}],
  empty: ['host.empty', {}],
  half: ['host.half', {}],
  steer: ['host.steer', {}],
  crash: ['host.crash', {}],
}

/** The reply of a provider in one round, in the dialect of the request. */
function replyFor(step: Step, native: boolean): FakeReply {
  const tool = toolOf[step]
  const called = (id: string, params: object) =>
    native
      ? { reasoning: 'Hm.', text: 'I look.', calls: [{ name: id.replace('.', '__'), input: params }] }
      : { text: reply.call(id, params) }
  if (tool) return called(...tool)
  const rome = { name: 'weather__today', input: { city: 'Rome' }, id: 'same' }
  switch (step) {
    case 'several':
      return native ? { calls: [rome, rome, rome] } : called('weather.today', { city: 'Oslo' })
    case 'broken':
      return native
        ? { calls: [{ name: 'weather__today', input: '{"city": ' }], finish: 'malformed_call' }
        : { text: '<channel:thinking>x' }
    case 'unknown':
      return called('no.such', { a: 1 })
    case 'cut':
      return { ...called('weather.today', { city: 'Rome' }), finish: 'length' }
    case 'reset':
      return { text: native ? 'Half an ans' : '<channel:thinking>Half', fault: 'reset' }
    case 'refused':
      return { text: '', finish: 'content_filter' }
    default:
      return native ? { reasoning: 'Done.', text: 'Done. \ud83d' } : { text: reply.answer('Done. \ud83d') }
  }
}

let providers: Readonly<Record<FakeProviderName, FakeProvider>>
let nextReply: (request: FakeRequest) => FakeReply = () => ({ text: '' })

beforeAll(async () => {
  const script = Array.from({ length: 100_000 }, () => (request: FakeRequest) => nextReply(request))
  const started = await Promise.all(everyProvider.map(async (name) => [name, await startFakeProvider(name, script)] as const))
  providers = Object.fromEntries(started) as typeof providers
})
afterAll(async () => {
  await Promise.all(Object.values(providers).map((provider) => provider.close()))
})

interface Speaker {
  readonly provider: FakeProviderName
  readonly dialect: Dialect
}

/** A model that is another provider, another model and another dialect in every round. */
function switchingModel(speakers: readonly Speaker[], asked: Speaker[]): Model {
  const models = new Map(
    everyProvider.map((name) => [name, modelFrom(modelNames[name], { images: true, environment: providers[name].environment })]),
  )
  let round = 0
  const speaker = () => speakers[round % speakers.length] as Speaker
  return {
    name: 'switching',
    window: 200_000,
    get dialect() {
      return speaker().dialect
    },
    async *stream(request, signal) {
      const current = speaker()
      round++
      asked.push(current)
      yield* (models.get(current.provider) as Model).stream(request, signal)
    },
  }
}

const speaker = fc.record({ provider: fc.constantFrom(...everyProvider), dialect: fc.constantFrom<Dialect>('channels', 'native') })

it('every request is valid, whatever happened before and whichever model is asked', async () => {
  const counts = { requests: 0, switches: 0, compactions: 0, crashes: 0, steers: 0, images: 0, complete: 0 }
  const before = everyProvider.map((name) => [name, providers[name].requests.length] as const)
  await fc.assert(
    fc.asyncProperty(
      fc.array(speaker, { minLength: 5, maxLength: 8 }),
      fc.array(fc.constantFrom(...steps), { minLength: 20, maxLength: 20 }),
      async (speakers, script) => {
        const left = [...script]
        nextReply = ({ body }) => replyFor(left.shift() ?? 'answer', Object.hasOwn(body as object, 'tools'))
        await runConversation(speakers, counts)
      },
    ),
    { numRuns: 25, seed: 1 },
  )
  for (const [name, first] of before) {
    for (const { body } of providers[name].requests.slice(first)) {
      counts.requests++
      expect(requestRules[name](body)).toEqual([])
    }
  }
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(10)
}, 120_000)

async function runConversation(speakers: readonly Speaker[], counts: Record<string, number>): Promise<void> {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const asked: Speaker[] = []
  const decision = switchingModel(speakers, asked)
  let agent: Agent
  let crashed = false
  const host = (id: string, run: () => unknown) =>
    defineTool({ id: `host.${id}`, description: 'For tests.', params: z.object({}), run: async () => run() })
  const tools = [
    weather(),
    library(),
    host('empty', () => ''),
    host('half', () => 'a\ud83d'),
    defineTool({
      id: 'host.image',
      description: 'A picture.',
      params: z.object({}),
      run: () => ({ ok: true, ret: { mime: 'image/png', base64: png({ width: 2_500 }).toString('base64') } }),
    }),
    host('steer', () => {
      counts.steers = (counts.steers ?? 0) + 1
      return agent.steer('c1', 'Another way.').then(() => new Promise((resolve) => setTimeout(resolve, 50)))
    }),
    host('crash', () => {
      counts.crashes = (counts.crashes ?? 0) + 1
      crashed = true
      void agent.close()
      return new Promise(() => {})
    }),
  ]
  const compaction = scriptedModel(Array.from({ length: 200 }, () => '## Progress\nSome things were done.'))
  const open = () =>
    createAgentFrom({
      model: { decision, gate: scriptedModel([]), compaction },
      store,
      clock,
      tools,
      settings: { retryDelaysMs: [0], stopGraceMs: 10, contextTokens: 9_000, maxRounds: 6 },
    })
  agent = open()
  for (let message = 0; message < 5; message++) {
    crashed = false
    const attachments = message % 2 === 0 ? [{ name: 'photo.png', content: png({ width: 3 + message }) }] : []
    counts.images = (counts.images ?? 0) + attachments.length
    const result = await agent.run('c1', `Message ${message}`, { attachments }).result.catch(() => undefined)
    if (result?.exitReason === 'complete') counts.complete = (counts.complete ?? 0) + 1
    if (!crashed) expect(result?.answer.trim()).not.toBe('')
    // the next process may crash, too
    while (crashed) {
      crashed = false
      agent = open()
      await agent.recover().catch(() => {})
    }
  }
  await agent.close()
  const loaded = await store.loadVisible('c1')
  expect(loaded?.timeline.openTurn).toBeUndefined()
  for await (const { change } of store.readJournal('c1', { after: 0 }))
    if (change.type === 'range.compacted') counts.compactions = (counts.compactions ?? 0) + 1
  counts.switches = (counts.switches ?? 0) + asked.filter((each, index) => index > 0 && each.provider !== asked[index - 1]?.provider).length
}
