import { roughTokens } from '../../../src/core/estimate/tokens.ts'
import type { ModelRequest } from '../../../src/ports/model.ts'
import { type CacheSimulator, type CacheSimulatorOptions, createCacheSimulator } from '../../../src/testing/cache-simulator.ts'
import type { FixedClock } from '../../../src/testing/fixed-clock.ts'
import { type Reply, type ScriptedModel, scriptedModel } from '../../../src/testing/scripted-model.ts'

/** The prompt cache of a provider. Several models of a test can share it, in the same way as several processes use one provider. */
export const cacheOf = (options: Partial<CacheSimulatorOptions> = {}): CacheSimulator =>
  createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens, ...options })

export interface ModelCacheOptions {
  readonly cache: CacheSimulator
  readonly clock: FixedClock
  readonly name?: string
  /** Changes a request before it is sent. An adapter may do the same. */
  readonly transformRequest?: (request: ModelRequest) => ModelRequest
  /** With `nothing`, the provider does not report how many tokens it read from the cache. By default it reports this number. */
  readonly reports?: 'nothing'
  /** If set, cached prompts live for an hour, and the usage reports the tokens written for an hour separately. */
  readonly long?: true
}

/** A scripted model whose usage comes from a simulated prompt cache. */
export function scriptedModelWithCache(replies: readonly Reply[], options: ModelCacheOptions): ScriptedModel {
  return withCache(scriptedModel(replies, { name: options.name ?? 'scripted', window: 1e9 }), options)
}

/** Replaces the usage of a scripted model by that of a simulated prompt cache. */
export function withCache(
  model: ScriptedModel,
  { cache, clock, transformRequest: sends = (same) => same, reports, long }: ModelCacheOptions,
): ScriptedModel {
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
        reports === 'nothing'
          ? { uncached: uncached + cacheRead + cacheWrite, cacheRead: 0, cacheWrite: 0 }
          : { uncached, cacheRead, cacheWrite, ...(long && { cacheWriteLong: cacheWrite }) }
      for await (const event of model.stream(request, signal)) {
        yield event.type === 'finish' && event.usage ? { ...event, usage: { ...event.usage, ...known } } : event
      }
    },
  }
}
