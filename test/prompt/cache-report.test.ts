import { describe, expect, it, vi } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { type AgentParts, createAgentFrom } from '../../src/agent/agent.ts'
import { cacheReport } from '../../src/core/cache/cache-report.ts'
import type { MissCause } from '../../src/core/cache/misses.ts'
import type { ProviderCacheRules } from '../../src/core/cache/rules.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'
import { blockRenderers } from '../../src/core/render/blocks/index.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { cacheOf, type ModelCacheOptions, scriptedModelWithCache } from '../support/models/model-with-cache.ts'
import { library, weather } from '../support/scenario-tools.ts'

const rules: ProviderCacheRules = { kind: 'marks', minimumTokens: 1_024, lookBackParts: 20, ttlSeconds: 300, maxMarks: 4 }
const page = (number: number) => reply.call('library.fetch', { page: number })
const forecast = reply.call('weather.today', { city: 'Rome' })

type Parts = Partial<Omit<AgentParts, 'model' | 'store' | 'clock'>>

/** One conversation with one provider. Each turn runs in a new agent, as it would in a new process. */
function createCacheHarness(options: { readonly rules?: Partial<ProviderCacheRules>; readonly cache?: ModelCacheOptions['cache'] } = {}) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const cache = options.cache ?? cacheOf()
  const known = { ...rules, ...options.rules }
  const journal = async () => {
    const entries: { readonly seq: number; readonly change: Change }[] = []
    for await (const entry of store.readJournal('c', { after: 0 })) entries.push(entry)
    return entries
  }
  return {
    clock,
    store,
    async turn(input: string, replies: readonly Reply[], parts: Parts = {}, modelOptions: Partial<ModelCacheOptions> = {}) {
      const model = scriptedModelWithCache(replies, { cache, clock, ...modelOptions })
      const agent = createAgentFrom({ tools: [library(), weather()], ...parts, model, store, clock })
      await agent.run('c', input).result
      await agent.close()
      clock.advance(5_000)
      return agent
    },
    async blocks() {
      return blocksOf((await store.loadVisible('c'))?.timeline as never)
    },
    async report() {
      return cacheReport(await journal(), { rulesOf: () => known, count: roughTokens })
    },
  }
}

const firstTurn = [page(1), page(2), page(3), reply.answer('Read.')]

/** The cause and the block type of every reported miss. */
async function causesAndBlocks(harness: ReturnType<typeof createCacheHarness>) {
  const { misses } = await harness.report()
  return misses.map(({ miss }) => [miss?.cause, miss?.block?.type])
}

describe('the cache report names the cause and the block of a miss', () => {
  it('the system text changed', async () => {
    const harness = createCacheHarness()
    await harness.turn('Read.', firstTurn, { customisation: 'Today is Monday.' })
    await harness.turn('And?', [forecast, reply.answer('Clear.')], { customisation: 'Today is Tuesday.' })
    expect(await causesAndBlocks(harness)).toEqual([['system text changed', undefined]])
  })

  it('the order of the tools changed', async () => {
    const harness = createCacheHarness()
    await harness.turn('Read.', firstTurn)
    await harness.turn('And?', [forecast, reply.answer('Clear.')], { tools: [weather(), library()] })
    expect(await causesAndBlocks(harness)).toEqual([['tool text changed', undefined]])
  })

  it('a hide, starting at the hidden block', async () => {
    const harness = createCacheHarness()
    const hide = reply.call('react.hide', { path: 'tc:T.C.result', replacement_text: 'red doors' })
    const replies = [
      page(1),
      forecast,
      (request: { parts: readonly { type: string; text?: string }[] }) => {
        const path = /tc:[\w.-]+\.result/g.exec(
          [...request.parts]
            .reverse()
            .map(({ text = '' }) => text)
            .find((text) => text.includes('21')) ?? '',
        )?.[0]
        return hide.replace('tc:T.C.result', path ?? '')
      },
      reply.answer('Hidden.'),
    ]
    await harness.turn('Read.', replies as readonly Reply[])
    const hidden = (await harness.blocks()).find(({ meta }) => meta?.hidden === true)
    const { misses } = await harness.report()
    expect(misses.map(({ iteration, miss }) => [iteration, miss?.cause, miss?.block?.id])).toEqual([[3, 'hide', hidden?.id]])
  })

  it('an expiry while the provider still has the cache', async () => {
    const harness = createCacheHarness()
    const parts = {
      settings: {
        expiry: { ...(await defaults()).expiry, ttlSeconds: 60, bufferSeconds: 0, keepRecentTurns: 1, keepIntactTurns: 1 },
      },
    }
    for (const n of [1, 2, 3]) await harness.turn(`Read ${n}.`, [page(n), reply.answer('Read.')], parts)
    harness.clock.advance(100_000)
    await harness.turn('And?', [reply.answer('Red.')], parts)
    const [miss] = (await harness.report()).misses
    expect(miss?.miss).toMatchObject({ cause: 'expiry', block: { id: expect.stringMatching(/^b_/) } })
    expect((await harness.report()).misses).toHaveLength(1)
  })

  it('a compaction, starting at its summary', async () => {
    const harness = createCacheHarness()
    const parts = { settings: { contextTokens: 5_400, keepRecentTurns: 1 } }
    await harness.turn('Read.', [page(1), page(2), reply.answer('Red.')], parts)
    await harness.turn(
      `Which? ${'Tell me exactly. '.repeat(200)}`,
      ['## Goal\nDoors.\n\n## Done\nRead two pages: red.', reply.answer('Red.')],
      parts,
    )
    const [miss, ...more] = (await harness.report()).misses
    expect([miss?.miss?.cause, miss?.miss?.block?.type, more]).toEqual(['compaction', 'conv.range.summary', []])
  })

  it('feedback inserted into an old turn while the provider still has the cache', async () => {
    const harness = createCacheHarness()
    const parts = { settings: { expiry: { ...(await defaults()).expiry, ttlSeconds: null } } }
    await harness.turn('Read.', firstTurn, parts)
    await harness.turn('More.', [forecast, reply.answer('Clear.')], parts)
    const [first] = await harness.blocks()
    const agent = await harness.turn('Go on.', [forecast, reply.answer('Clear.')], parts)
    const speaker = createAgentFrom({
      model: scriptedModelWithCache([], { cache: cacheOf(), clock: harness.clock }),
      store: harness.store,
      clock: harness.clock,
    })
    await speaker.feedback('c', 'Too long.', { turnId: first?.turn_id ?? '', reaction: 'not_ok' })
    await speaker.close()
    void agent
    await harness.turn('And?', [reply.answer('Clear.')], parts)
    expect(await causesAndBlocks(harness)).toEqual([['feedback inserted', 'turn.feedback']])
  })

  it('a pause longer than the time to live of the cache', async () => {
    const harness = createCacheHarness()
    await harness.turn('Read.', firstTurn)
    harness.clock.advance(400_000)
    await harness.turn('And?', [forecast, reply.answer('Clear.')], {
      settings: { expiry: { ...(await defaults()).expiry, ttlSeconds: null } },
    })
    const { misses } = await harness.report()
    expect(misses.map(({ miss }) => miss?.words)).toEqual(['7 min without a call; the provider keeps 5 min'])
  })

  it('a cache of one hour that the provider lost within the hour, and then a pause of more than an hour', async () => {
    const cache = cacheOf({ ttlSeconds: 3_600 })
    const harness = createCacheHarness({ rules: { longTtlSeconds: 3_600 }, cache })
    const never = { settings: { expiry: { ...(await defaults()).expiry, ttlSeconds: null } } }
    await harness.turn('Read.', firstTurn, never, { long: true })
    harness.clock.advance(600_000)
    // a new cache: the provider has lost the old one after ten minutes
    await harness.turn('And?', [reply.answer('Clear.')], never, { long: true, cache: cacheOf() })
    harness.clock.advance(4_000_000)
    await harness.turn('And?', [reply.answer('Clear.')], never, { long: true })
    const { misses } = await harness.report()
    expect(misses.map(({ miss }) => miss?.words)).toEqual([
      'nothing changed and time was not up: the provider no longer had it',
      '67 min without a call; the provider keeps 60 min',
    ])
  })

  it('a different model', async () => {
    const harness = createCacheHarness()
    await harness.turn('Read.', firstTurn)
    await harness.turn('And?', [forecast, reply.answer('Clear.')], {}, { name: 'other', cache: cacheOf() })
    await harness.turn('And?', [reply.answer('Clear.')]) // the cache of the first model is still valid
    const { misses } = await harness.report()
    expect(misses.map(({ miss }) => miss?.words)).toEqual(['another model was asked: scripted, then other'])
  })

  it('more parts between two marks than the look-back of the provider', async () => {
    const harness = createCacheHarness()
    const { clock, store } = harness
    let sent = 0
    const sendFollowups = async (conversationId: string) => {
      for (let n = 0; n < 25 && sent < 25; n++) await agent.send(conversationId, `And ${sent++}?`)
    }
    const agent = createAgentFrom({
      model: scriptedModelWithCache([forecast, forecast, reply.answer('Seen.')], { cache: cacheOf(), clock }),
      store,
      clock,
      settings: { cache: { minRounds: 99, offsetRounds: 4, markUserInput: false } },
      tools: [
        { ...weather(), run: async (_params, call) => sendFollowups(call.conversationId).then(() => ({ ok: true, output: 'clear' })) },
      ],
    })
    await agent.run('c', 'Rome?').result
    await agent.close()
    expect(await causesAndBlocks(harness)).toEqual([['look-back exceeded', 'react.tool.result']])
  })

  it('a prompt below the minimum size of the cache', async () => {
    const harness = createCacheHarness({ rules: { minimumTokens: 50_000 }, cache: cacheOf({ minimumTokens: 50_000 }) })
    await harness.turn('Rome?', [reply.answer('Clear.')])
    expect(await causesAndBlocks(harness)).toEqual([['below minimum', 'stage.gate']])
  })

  it('more marks than the provider accepts', async () => {
    const harness = createCacheHarness({ rules: { maxMarks: 1 } })
    const unmarked: ModelCacheOptions['transformRequest'] = (request) => ({
      ...request,
      parts: request.parts.map(({ cache: _cache, ...part }) => part as typeof part & object) as typeof request.parts,
    })
    await harness.turn('Read.', firstTurn, {}, { transformRequest: unmarked })
    const { misses } = await harness.report()
    expect(new Set(misses.map(({ miss }) => miss?.cause))).toEqual(new Set<MissCause>(['mark limit']))
    expect(misses[0]?.miss?.block?.id).toMatch(/^b_/)
  })

  it('a provider that reports no cache usage', async () => {
    const harness = createCacheHarness()
    await harness.turn('Read.', [reply.answer('Clear.')], {}, { reports: 'nothing' })
    expect(await causesAndBlocks(harness)).toEqual([['not reported', undefined]])
  })

  it('code that renders the same block differently', async () => {
    const harness = createCacheHarness()
    await harness.turn('Read.', firstTurn)
    const before = blockRenderers['user.prompt']
    vi.spyOn(blockRenderers, 'user.prompt').mockImplementation((block, context) =>
      before(block, context).map((part) => (part.type === 'text' ? { ...part, text: `${part.text}.` } : part)),
    )
    await harness.turn('And?', [reply.answer('Clear.')])
    vi.restoreAllMocks()
    const prompt = (await harness.blocks()).find(({ type }) => type === 'user.prompt')
    const { misses } = await harness.report()
    expect(misses.map(({ miss }) => [miss?.cause, miss?.block?.id])).toEqual([['rendered differently', prompt?.id]])
  })

  it('a provider that dropped its cache', async () => {
    const harness = createCacheHarness()
    await harness.turn('Read.', firstTurn)
    await harness.turn('And?', [forecast, reply.answer('Clear.')], {}, { cache: cacheOf() })
    expect(await causesAndBlocks(harness)).toEqual([['dropped by provider', undefined]])
  })
})

async function defaults() {
  return (await import('../../src/agent/settings.ts')).defaultAgentSettings
}

describe('a thousand rounds without a cause for a miss', () => {
  const prefixRules = { ...rules, kind: 'prefix' as const, maxMarks: 0 }
  it.each([
    ['cache marks', 20, cacheOf(), rules],
    ['an automatic prefix', 4, cacheOf({ kind: 'prefix' }), prefixRules],
  ])(
    'are reported without a miss: %s',
    async (_, turns, cache, known) => {
      const harness = createCacheHarness({ cache, rules: known })
      const settings = { maxRounds: 60, contextTokens: 1e9 }
      for (let turn = 0; turn < turns; turn++) {
        const replies = Array.from({ length: 49 }, (_, n) => (n % 12 === 0 ? page(n) : forecast))
        await harness.turn(`Turn ${turn}.`, [...replies, reply.answer('Done.')], { settings })
      }
      const { rows, misses, hitRate } = await harness.report()
      expect(rows).toHaveLength(turns * 50)
      expect(misses).toEqual([])
      expect(hitRate).toBeGreaterThan(0.9)
    },
    60_000,
  )
})
