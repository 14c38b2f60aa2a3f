import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cacheReport } from '../../src/core/cache/cache-report.ts'
import type { ProviderCacheRules } from '../../src/core/cache/rules.ts'
import { addSums, costReport, type Sum, zeroSum } from '../../src/core/cost/cost.ts'
import { type ChargeOf, chargeFor } from '../../src/core/cost/price.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { cacheOf, withCache } from '../support/models/model-with-cache.ts'
import type { Scenario } from '../support/scenario.ts'

const here = join(import.meta.dirname, '../scenarios')
const names = readdirSync(here).filter((name) => existsSync(join(here, name, 'scenario.ts')))

const marks: ProviderCacheRules = { kind: 'marks', minimumTokens: 1_024, lookBackParts: 20, ttlSeconds: 300, maxMarks: 4 }
const providers = {
  marks: { rules: marks, cache: () => cacheOf() },
  prefix: { rules: { ...marks, kind: 'prefix', maxMarks: 0 } as const, cache: () => cacheOf({ kind: 'prefix' }) },
}

/** The cache misses that scenarios should have. Steers, stops, faults, retries, wrap-ups and resumed turns cause no miss. */
const causes: Readonly<Record<string, readonly string[]>> = {
  '030-compacted-between-turns': ['compaction'],
  '031-condensed-within-a-turn': ['compaction'],
  '032-expired-after-idleness': ['ttl gap'],
  '070-feedback-when-the-cache-is-cold': ['ttl gap'],
  '073-plans-after-a-compaction': ['compaction'],
  '082-hidden-and-read-again': ['hide', 'reveal'],
}

const row = { currency: 'USD', as_of: '2026-01-01', source: 'this test', model: 'scripted' } as const
const chargeOf: ChargeOf = (usage) => chargeFor(usage, { ...row, input: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15 })

async function journalOf(name: string, cache: ReturnType<typeof cacheOf>) {
  const scenario = ((await import(`../scenarios/${name}/scenario.ts`)) as { default: Scenario }).default
  const setup = scenario.setup()
  const clock = createFixedClock()
  const harness = createHarness({ ...setup, clock, model: withCache(setup.model ?? scriptedModel(setup.replies), { cache, clock }) })
  await (scenario.run ?? ((given) => given.say('Please do it.')))(harness)
  await harness.agent.close()
  return (await harness.journal()).map((change, index) => ({ seq: index + 1, change }))
}

describe.each(Object.keys(providers) as (keyof typeof providers)[])('at a provider whose cache works by %s', (kind) => {
  it.each(names)('%s: the report has only the expected misses, and every breakdown adds up to the total usage', async (name) => {
    const { rules, cache } = providers[kind]
    const journal = await journalOf(name, cache())
    const { misses } = cacheReport(journal, { rulesOf: () => rules, count: roughTokens })
    const found = misses.map(({ miss }) => miss?.cause)
    if (kind === 'marks') expect(found).toEqual(causes[name] ?? [])
    // a cache of the kind `prefix` reads whole blocks of 128 tokens, so it may not show a small miss
    else expect(causes[name] ?? []).toEqual(expect.arrayContaining(found))
    const { total, calls, ...parts } = costReport(journal, { chargeOf, count: roughTokens })
    for (const part of [parts.turns, parts.roles, parts.models, parts.blocks])
      expect(totalOf(part)).toEqual(totalOf(new Map([['', total]])))
    for (const { role, shares } of calls)
      if (role === 'compaction') expect(shares.filter(({ tokens }) => tokens.output > 0).map(({ key }) => key)).not.toContain('unused')
  })
})

function totalOf(sums: ReadonlyMap<string, Sum>) {
  const { money, tokens } = [...sums.values()].reduce(addSums, zeroSum)
  const { uncached, cacheRead, cacheWrite, output } = tokens
  return { money, uncached, cacheRead, cacheWrite, output }
}
