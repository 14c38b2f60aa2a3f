import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { createMemoryRelays } from '../support/memory-relay.ts'
import { pausedTool } from '../support/scenario-tools.ts'

/** Two agents on one store. */
function open(shared: boolean) {
  const clock = createSystemClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const relays = createMemoryRelays()
  const { tool, finish } = pausedTool()
  const openAgent = (replies: readonly Reply[]) => {
    const model = scriptedModel(replies)
    const agent = createAgentFrom({ model, store: shared ? { ...store, relay: relays.open() } : store, clock, tools: [tool] })
    return { agent, model }
  }
  return { store, openAgent, finish }
}

const call = reply.call('paused.work', {})
const decisions = (model: ReturnType<typeof scriptedModel>) => model.requests.filter(({ role }) => role === 'decision').length

it('an agent that drains ends its turn after the round, and another one continues it without asking the model again', async () => {
  const { store, openAgent, finish } = open(true)
  const first = openAgent([call, reply.answer('Not asked for.')])
  const run = first.agent.run('c1', 'Do it.')
  const started = Promise.withResolvers<void>()
  void (async () => {
    for await (const event of run) if (event.type === 'status' && event.status === 'tool.started') started.resolve()
  })()
  await started.promise
  const drained = first.agent.drain(60_000, { handOver: true })
  finish()
  await drained
  expect((await run.result).exitReason).toBe('cancelled')
  expect(decisions(first.model)).toBe(1)
  expect((await store.head('c1'))?.openTurn).not.toBe(null)
  await first.agent.close()

  const second = openAgent([reply.answer('Done.')])
  const { results } = await second.agent.recover()
  expect(results.map(({ exitReason, answer }) => [exitReason, answer])).toEqual([['complete', 'Done.']])
  expect(decisions(second.model)).toBe(1)
  await second.agent.close()
})

it('an agent whose store no other machine shares ends its turn before it has drained', async () => {
  const { openAgent, finish } = open(false)
  const { agent } = openAgent([call, reply.answer('Done.')])
  const run = agent.run('c1', 'Do it.')
  const started = Promise.withResolvers<void>()
  void (async () => {
    for await (const event of run) if (event.type === 'status' && event.status === 'tool.started') started.resolve()
  })()
  await started.promise
  const drained = agent.drain(60_000, { handOver: true })
  finish()
  await drained
  expect((await run.result).answer).toBe('Done.')
  await agent.close()
})
