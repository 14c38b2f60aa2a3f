import { roughTokens } from '../../../src/core/estimate/tokens.ts'
import type { ModelRequest } from '../../../src/ports/model.ts'
import { type CacheSimulator, type CacheSimulatorOptions, createCacheSimulator } from '../../../src/testing/cache-simulator.ts'
import type { FixedClock } from '../../../src/testing/fixed-clock.ts'
import { type Reply, type ScriptedModel, scriptedModel } from '../../../src/testing/scripted-model.ts'

/** A provider's cache that several models of a test may share, as several processes share a provider. */
export const cacheOf = (options: Partial<CacheSimulatorOptions> = {}): CacheSimulator =>
  createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens, ...options })

export interface Billing {
  readonly cache: CacheSimulator
  readonly clock: FixedClock
  readonly name?: string
  /** What the adapter makes of a request before it goes out. */
  readonly sends?: (request: ModelRequest) => ModelRequest
  /** What the provider tells of its bill; all of it by default. */
  readonly tells?: 'nothing'
  /** What is written lives for an hour, and the bill says so. */
  readonly long?: true
}

/** A script whose bills are those of a provider with a cache. */
export function billedModel(replies: readonly Reply[], billing: Billing): ScriptedModel {
  return billed(scriptedModel(replies, { name: billing.name ?? 'scripted', window: 1e9 }), billing)
}

/** The same for a script that is there already. */
export function billed(model: ScriptedModel, { cache, clock, sends = (same) => same, tells, long }: Billing): ScriptedModel {
  return {
    name: model.name,
    window: model.window,
    requests: model.requests,
    get left() {
      return model.left
    },
    async *stream(request, signal) {
      const { system, parts } = sends(request)
      const { uncached, cacheRead, cacheWrite } = cache.call({ system, parts, at: Date.parse(clock.now()) / 1000 })
      const known =
        tells === 'nothing'
          ? { uncached: uncached + cacheRead + cacheWrite, cacheRead: 0, cacheWrite: 0 }
          : { uncached, cacheRead, cacheWrite, ...(long && { cacheWriteLong: cacheWrite }) }
      for await (const event of model.stream(request, signal)) {
        yield event.type === 'finish' && event.usage ? { ...event, usage: { ...event.usage, ...known } } : event
      }
    },
  }
}
