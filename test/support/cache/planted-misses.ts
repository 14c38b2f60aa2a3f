import { vi } from 'vitest'
import { createMemoryBlobs } from '../../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../../src/adapters/store/memory/store.ts'
import { type AgentParts, createAgentFrom } from '../../../src/agent/agent.ts'
import { defaultAgentSettings } from '../../../src/agent/settings.ts'
import { cacheReport } from '../../../src/core/cache/cache-report.ts'
import type { MissCause } from '../../../src/core/cache/misses.ts'
import type { ProviderCacheRules } from '../../../src/core/cache/rules.ts'
import { roughTokens } from '../../../src/core/estimate/tokens.ts'
import { blockRenderers } from '../../../src/core/render/blocks/index.ts'
import type { Change } from '../../../src/core/timeline/change.ts'
import { blocksOf } from '../../../src/core/timeline/timeline.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'
import { createFixedClock } from '../../../src/testing/fixed-clock.ts'
import { type Reply, reply } from '../../../src/testing/scripted-model.ts'
import { cacheOf, type ModelCacheOptions, scriptedModelWithCache } from '../models/model-with-cache.ts'
import { library, weather } from '../scenario-tools.ts'

export const rules: ProviderCacheRules = { kind: 'marks', minimumTokens: 1_024, lookBackParts: 20, ttlSeconds: 300, maxMarks: 4 }
export const page = (number: number) => reply.call('library.fetch', { page: number })
export const forecast = reply.call('weather.today', { city: 'Rome' })
export const firstTurn = [page(1), page(2), page(3), reply.answer('Read.')]

type Parts = Partial<Omit<AgentParts, 'model' | 'store' | 'clock'>>

interface CacheHarnessOptions {
  readonly rules?: Partial<ProviderCacheRules>
  readonly cache?: ModelCacheOptions['cache']
  readonly store?: ConversationStore
  readonly id?: string
}

export type CacheHarness = ReturnType<typeof createCacheHarness>

/** One conversation with one provider. Each turn runs in a new agent, as it would in a new process. */
export function createCacheHarness(options: CacheHarnessOptions = {}) {
  const clock = createFixedClock()
  const store = options.store ?? createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const cache = options.cache ?? cacheOf()
  const known = { ...rules, ...options.rules }
  const id = options.id ?? 'c'
  const journal = async () => {
    const entries: { readonly seq: number; readonly change: Change }[] = []
    for await (const entry of store.readJournal(id, { after: 0 })) entries.push(entry)
    return entries
  }
  return {
    clock,
    store,
    id,
    rules: known,
    async turn(input: string, replies: readonly Reply[], parts: Parts = {}, modelOptions: Partial<ModelCacheOptions> = {}) {
      const model = scriptedModelWithCache(replies, { cache, clock, ...modelOptions })
      const agent = createAgentFrom({ tools: [library(), weather()], ...parts, model, store, clock })
      await agent.run(id, input).result
      await agent.close()
      clock.advance(5_000)
      return agent
    },
    async blocks() {
      return blocksOf((await store.loadVisible(id))?.timeline as never)
    },
    async report() {
      return cacheReport(await journal(), { rulesOf: () => known, count: roughTokens })
    },
  }
}

/** A conversation with a cache miss that was made on purpose. */
export interface PlantedMiss {
  readonly cause: MissCause
  readonly options?: CacheHarnessOptions
  plant(harness: CacheHarness): Promise<void>
}

const never = { settings: { expiry: { ...defaultAgentSettings.expiry, ttlSeconds: null } } }

/** One conversation for each cause that can be planted. */
export const plantedMisses: readonly PlantedMiss[] = [
  {
    cause: 'system text changed',
    async plant(harness) {
      await harness.turn('Read.', firstTurn, { customisation: 'Today is Monday.' })
      await harness.turn('And?', [forecast, reply.answer('Clear.')], { customisation: 'Today is Tuesday.' })
    },
  },
  {
    cause: 'tool text changed',
    async plant(harness) {
      await harness.turn('Read.', firstTurn)
      await harness.turn('And?', [forecast, reply.answer('Clear.')], { tools: [weather(), library()] })
    },
  },
  {
    cause: 'hide',
    async plant(harness) {
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
    },
  },
  {
    cause: 'expiry',
    async plant(harness) {
      const expiry = { ...defaultAgentSettings.expiry, ttlSeconds: 60, bufferSeconds: 0, keepRecentTurns: 1, keepIntactTurns: 1 }
      for (const n of [1, 2, 3]) await harness.turn(`Read ${n}.`, [page(n), reply.answer('Read.')], { settings: { expiry } })
      harness.clock.advance(100_000)
      await harness.turn('And?', [reply.answer('Red.')], { settings: { expiry } })
    },
  },
  {
    cause: 'compaction',
    async plant(harness) {
      const parts = { settings: { contextTokens: 5_400, keepRecentTurns: 1 } }
      await harness.turn('Read.', [page(1), page(2), reply.answer('Red.')], parts)
      const summary = '## Goal\nDoors.\n\n## Done\nRead two pages: red.'
      await harness.turn(`Which? ${'Tell me exactly. '.repeat(200)}`, [summary, reply.answer('Red.')], parts)
    },
  },
  {
    cause: 'feedback inserted',
    async plant(harness) {
      await harness.turn('Read.', firstTurn, never)
      await harness.turn('More.', [forecast, reply.answer('Clear.')], never)
      const [first] = await harness.blocks()
      await harness.turn('Go on.', [forecast, reply.answer('Clear.')], never)
      const { store, clock } = harness
      const speaker = createAgentFrom({ model: scriptedModelWithCache([], { cache: cacheOf(), clock }), store, clock })
      await speaker.feedback(harness.id, 'Too long.', { turnId: first?.turn_id ?? '', reaction: 'not_ok' })
      await speaker.close()
      await harness.turn('And?', [reply.answer('Clear.')], never)
    },
  },
  {
    cause: 'ttl gap',
    async plant(harness) {
      await harness.turn('Read.', firstTurn)
      harness.clock.advance(400_000)
      await harness.turn('And?', [forecast, reply.answer('Clear.')], never)
    },
  },
  {
    cause: 'model switch',
    async plant(harness) {
      await harness.turn('Read.', firstTurn)
      await harness.turn('And?', [forecast, reply.answer('Clear.')], {}, { name: 'other', cache: cacheOf() })
      await harness.turn('And?', [reply.answer('Clear.')]) // the cache of the first model is still valid
    },
  },
  {
    cause: 'look-back exceeded',
    async plant({ clock, store, id }) {
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
      await agent.run(id, 'Rome?').result
      await agent.close()
    },
  },
  {
    cause: 'below minimum',
    options: { rules: { minimumTokens: 50_000 }, cache: cacheOf({ minimumTokens: 50_000 }) },
    plant: async (harness) => void (await harness.turn('Rome?', [reply.answer('Clear.')])),
  },
  {
    cause: 'mark limit',
    options: { rules: { maxMarks: 1 } },
    async plant(harness) {
      const unmarked: ModelCacheOptions['transformRequest'] = (request) => ({
        ...request,
        parts: request.parts.map(({ cache: _cache, ...part }) => part as typeof part & object) as typeof request.parts,
      })
      await harness.turn('Read.', firstTurn, {}, { transformRequest: unmarked })
    },
  },
  {
    cause: 'not reported',
    plant: async (harness) => void (await harness.turn('Read.', [reply.answer('Clear.')], {}, { reports: 'nothing' })),
  },
  {
    cause: 'rendered differently',
    async plant(harness) {
      await harness.turn('Read.', firstTurn)
      const before = blockRenderers['user.prompt']
      vi.spyOn(blockRenderers, 'user.prompt').mockImplementation((block, context) =>
        before(block, context).map((part) => (part.type === 'text' ? { ...part, text: `${part.text}.` } : part)),
      )
      await harness.turn('And?', [reply.answer('Clear.')])
      vi.restoreAllMocks()
    },
  },
  {
    cause: 'dropped by provider',
    async plant(harness) {
      await harness.turn('Read.', firstTurn)
      await harness.turn('And?', [forecast, reply.answer('Clear.')], {}, { cache: cacheOf() })
    },
  },
]

/** Makes the conversation with this miss. */
export async function plantMiss(cause: MissCause, more: CacheHarnessOptions = {}): Promise<CacheHarness> {
  const planted = plantedMisses.find((each) => each.cause === cause)
  const harness = createCacheHarness({ ...planted?.options, ...more })
  await planted?.plant(harness)
  return harness
}
