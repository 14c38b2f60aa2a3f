import { describe, expect, it } from 'vitest'
import { defaultAgentSettings } from '../../src/agent/settings.ts'
import type { MissCause } from '../../src/core/cache/misses.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { type CacheHarness, createCacheHarness, firstTurn, forecast, page, plantMiss, rules } from '../support/cache/planted-misses.ts'
import { cacheOf } from '../support/models/model-with-cache.ts'

/** The cause and the block type of every reported miss. */
async function causesAndBlocks(harness: CacheHarness) {
  const { misses } = await harness.report()
  return misses.map(({ miss }) => [miss?.cause, miss?.block?.type])
}

describe('the cache report names the cause and the block of a miss', () => {
  it('the system text changed', async () => {
    expect(await causesAndBlocks(await plantMiss('system text changed'))).toEqual([['system text changed', undefined]])
  })

  it('the order of the tools changed', async () => {
    expect(await causesAndBlocks(await plantMiss('tool text changed'))).toEqual([['tool text changed', undefined]])
  })

  it('a hide, starting at the hidden block', async () => {
    const harness = await plantMiss('hide')
    const hidden = (await harness.blocks()).find(({ meta }) => meta?.hidden === true)
    const { misses } = await harness.report()
    expect(misses.map(({ iteration, miss }) => [iteration, miss?.cause, miss?.block?.id])).toEqual([[3, 'hide', hidden?.id]])
    expect(misses[0]?.miss?.difference).toMatchObject({ before: expect.stringContaining('21'), now: expect.stringContaining('red doors') })
  })

  it('an expiry while the provider still has the cache', async () => {
    const { misses } = await (await plantMiss('expiry')).report()
    expect(misses.map(({ miss }) => miss)).toMatchObject([{ cause: 'expiry', block: { id: expect.stringMatching(/^b_/) } }])
  })

  it('a compaction, starting at its summary', async () => {
    const [miss, ...more] = (await (await plantMiss('compaction')).report()).misses
    expect([miss?.miss?.cause, miss?.miss?.block?.type, more]).toEqual(['compaction', 'conv.range.summary', []])
    expect(miss?.miss?.difference?.now).toContain('Read two pages')
  })

  it('feedback inserted into an old turn while the provider still has the cache', async () => {
    expect(await causesAndBlocks(await plantMiss('feedback inserted'))).toEqual([['feedback inserted', 'turn.feedback']])
  })

  it('a pause longer than the time to live of the cache', async () => {
    const { misses } = await (await plantMiss('ttl gap')).report()
    expect(misses.map(({ miss }) => miss?.words)).toEqual(['7 min passed without a call, and the provider keeps its cache for 5 min'])
  })

  it('a cache of one hour that the provider lost within the hour, and then a pause of more than an hour', async () => {
    const cache = cacheOf({ ttlSeconds: 3_600 })
    const harness = createCacheHarness({ rules: { longTtlSeconds: 3_600 }, cache })
    const never = { settings: { expiry: { ...defaultAgentSettings.expiry, ttlSeconds: null } } }
    await harness.turn('Read.', firstTurn, never, { long: true })
    harness.clock.advance(600_000)
    // a new cache: the provider has lost the old one after ten minutes
    await harness.turn('And?', [reply.answer('Clear.')], never, { long: true, cache: cacheOf() })
    harness.clock.advance(4_000_000)
    await harness.turn('And?', [reply.answer('Clear.')], never, { long: true })
    const { misses } = await harness.report()
    expect(misses.map(({ miss }) => miss?.words)).toEqual([
      'no other cause was found, so the provider must have removed the prompt from its cache',
      '67 min passed without a call, and the provider keeps its cache for 60 min',
    ])
  })

  it('a different model', async () => {
    const { misses } = await (await plantMiss('model switch')).report()
    expect(misses.map(({ miss }) => miss?.words)).toEqual(['another model was asked: scripted, then other'])
  })

  it('more parts between two marks than the look-back of the provider', async () => {
    expect(await causesAndBlocks(await plantMiss('look-back exceeded'))).toEqual([['look-back exceeded', 'react.tool.result']])
  })

  it('a prompt below the minimum size of the cache', async () => {
    expect(await causesAndBlocks(await plantMiss('below minimum'))).toEqual([['below minimum', 'user.prompt']])
  })

  it('more marks than the provider accepts', async () => {
    const { misses } = await (await plantMiss('mark limit')).report()
    expect(new Set(misses.map(({ miss }) => miss?.cause))).toEqual(new Set<MissCause>(['mark limit']))
    expect(misses[0]?.miss?.block?.id).toMatch(/^b_/)
  })

  it('a provider that reports no cache usage', async () => {
    expect(await causesAndBlocks(await plantMiss('not reported'))).toEqual([['not reported', undefined]])
  })

  it('code that renders the same block differently', async () => {
    const harness = await plantMiss('rendered differently')
    const prompt = (await harness.blocks()).find(({ type }) => type === 'user.prompt')
    const { misses } = await harness.report()
    expect(misses.map(({ miss }) => [miss?.cause, miss?.block?.id, miss?.difference])).toEqual([
      ['rendered differently', prompt?.id, undefined],
    ])
  })

  it('a provider that dropped its cache', async () => {
    expect(await causesAndBlocks(await plantMiss('dropped by provider'))).toEqual([['dropped by provider', undefined]])
  })
})

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
