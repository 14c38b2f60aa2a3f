// The server process of relay.bench.ts. Store and blobs are in memory, and the model produces the load.

import { setTimeout as sleep } from 'node:timers/promises'
import { createMemoryBlobs } from '../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createMemoryStore } from '../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../src/agent/agent.ts'
import type { ModelEvent } from '../src/core/model-event.ts'
import type { Model, ModelRequest } from '../src/ports/model.ts'
import { noLog } from '../src/server/log.ts'
import { createMetrics, metricsHelp, observe } from '../src/server/metrics.ts'
import { serve } from '../src/server/serve.ts'
import { defaultServerSettings } from '../src/server/settings.ts'

/** The time in milliseconds, more precise than `Date.now()`. The times of two processes on one machine can be compared. */
const now = () => performance.timeOrigin + performance.now()

const usage = { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }

/**
 * Answers `flood 20000` with 20,000 chunks, as fast as they are read. Answers any other message slowly. The thinking starts with the
 * current time, from which the client computes the delay.
 */
async function* speak(request: ModelRequest): AsyncGenerator<ModelEvent> {
  if (request.role === 'gate') yield { type: 'text.delta', text: '<channel:output>{"conversation_title":"Bench"}</channel:output>' }
  else {
    const prompt = request.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
    const flood = Number([...prompt.matchAll(/flood (\d+)/g)].at(-1)?.[1] ?? 0)
    if (flood === 0) await sleep(Math.random() * 500)
    yield { type: 'text.delta', text: `<channel:thinking>T${now()};` }
    yield { type: 'text.delta', text: '</channel:thinking><channel:action>{"action":"complete"}</channel:action><channel:answer>' }
    for (let index = 0; index < flood; index++) {
      yield { type: 'text.delta', text: 'twenty characters... ' }
      if (index % 10 === 9) await new Promise(setImmediate) // chunks arrive in small groups, as they do from a network
    }
    for (let index = 0; flood === 0 && index < 20; index++) {
      await sleep(20)
      yield { type: 'text.delta', text: 'a few words more ' }
    }
    yield { type: 'text.delta', text: 'Done.</channel:answer>' }
  }
  yield { type: 'finish', finishReason: 'stop', modelName: 'bench', usage }
}

const model: Model = { name: 'bench', window: 1_000_000, stream: (request) => speak(request) }
const clock = createSystemClock()
const metrics = createMetrics(metricsHelp)
const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
const agent = createAgentFrom({ model, store, clock, ...observe(metrics) })
const most = { requestsPerMinute: 1e9, turnsPerMinute: 1e9, runningTurns: 1e6, followersPerUser: 1e6 }
const server = await serve({
  agent,
  settings: { ...defaultServerSettings, ...most, port: 0, drainMs: 0 },
  log: noLog,
  metrics,
  now: clock.now,
  newId: () => clock.randomHex(12),
})
process.send?.({ url: server.url })
process.on('message', () => {
  global.gc?.()
  global.gc?.()
  const { user, system } = process.cpuUsage()
  process.send?.({ rss: process.memoryUsage().rss, cpu: (user + system) / 1e6 })
})
process.once('disconnect', () => process.exit(0))
