/**
 * A process that tests kill. It runs many conversations at once that share one budget, with a model that takes less than what was reserved. It
 * prints a line after each conversation, and one at the end.
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Model } from '../../src/ports/model.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { openFolderStore } from '../support/stores.ts'

/** A model that calls an unknown tool in about three of four rounds, which the turn repairs, and then answers. */
export const spendingModel = (): Model => ({
  name: 'spending',
  window: 200_000,
  async *stream({ role, maxTokens }) {
    await sleep(Math.random() * 20)
    const isAnswer = role !== 'decision' || Math.random() < 0.3
    yield { type: 'text.delta', index: 0, text: isAnswer ? reply.answer('Done.') : reply.call('react.plan', { steps: ['one'] }) }
    // a title has a short prompt, for which little is reserved
    const usage = {
      uncached: role === 'gate' ? 10 : 900,
      cacheRead: 0,
      cacheWrite: 0,
      output: Math.ceil(Math.random() * maxTokens),
      reasoning: 0,
    }
    yield { type: 'finish', finishReason: 'stop', modelName: 'spending', usage }
  },
})

export const spendingSettings = { decision: { maxTokens: 1_000, temperature: 0 }, retryDelaysMs: [] }

if (process.argv[1] === import.meta.filename) {
  const [folder = '', first = '0', count = '0'] = process.argv.slice(2)
  const clock = createSystemClock()
  const store = await openFolderStore(folder)
  const agent = createAgentFrom({ store, clock, model: spendingModel(), settings: spendingSettings })
  writeSync(1, 'ready\n')
  const ids = Array.from({ length: Number(count) }, (_, n) => `acme/web/ann/c${Number(first) + n}`)
  await Promise.all(
    ids.map(async (id) => {
      await agent.run(id, 'Go on.').result
      writeSync(1, 'ran\n')
    }),
  )
  writeSync(1, 'end\n')
  await agent.close()
  await store.close()
}
