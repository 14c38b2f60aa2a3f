import { expect, it } from 'vitest'
import { createPdfReader } from '../../src/adapters/documents/pdf.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { ServiceError } from '../../src/core/model-event.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { type Reply, reply, type ScriptSettings, scriptedModel } from '../../src/testing/scripted-model.ts'
import { modelOf } from '../../src/wiring/models.ts'
import { toNative } from '../support/models/to-native.ts'
import { openTestStore } from '../support/stores.ts'

const failing = (error: Partial<ServiceError>): Reply => ({ error: { retryable: true, message: 'not now', ...error } })
const limited = failing({ kind: 'rate_limited', retry_after_seconds: 600 })
const usage = { uncached: 100, output: 10 }
const read = { text: reply.call('react.plan', { mode: 'new', steps: ['look'] }), usage }

async function setUp(usual: readonly Reply[], fallback: readonly Reply[], options: ScriptSettings = {}) {
  const clock = createFixedClock()
  const store = await openTestStore({ clock })
  const models = {
    decision: scriptedModel(usual, { name: 'usual' }),
    fallback: scriptedModel(fallback, { name: 'fallback', ...options }),
    gate: scriptedModel([], { name: 'gate' }),
  }
  const agent = createAgentFrom({
    model: models,
    store,
    clock,
    settings: { retryDelaysMs: [0, 0], priceOf: (_usage, model) => (model === 'fallback' ? 1 : 3) },
    bookkeeping: { chargeOf: ({ uncached }) => ({ uncached, cacheRead: 0, cacheWrite: 0, output: 0 }), rulesOf: () => undefined },
  })
  const answeredBy = async () => {
    const changes: Change[] = []
    for await (const { change } of store.readJournal('c1', { after: 0 })) changes.push(change)
    return changes.flatMap((change) => (change.type === 'response.received' && !change.role ? [change.prompt?.model] : []))
  }
  const divergences = async () => (await replay(store, 'c1')).map(({ divergence }) => divergence)
  return { clock, store, agent, models, answeredBy, divergences }
}

it('answers when the provider accepts no requests for a long time, and the journal and the costs name it', async () => {
  const { store, agent, models, answeredBy, divergences } = await setUp([limited], [read, { text: reply.answer('Hello.'), usage }])
  const { answer, exitReason, cost } = await agent.run('c1', 'Hello?').result
  expect({ answer, exitReason }).toEqual({ answer: 'Hello.', exitReason: 'complete' })
  expect(await answeredBy()).toEqual(['fallback', 'fallback'])
  expect(cost).toEqual({ money: 1 + 1 + 3 }) // two decisions and the title
  expect((await agent.archive.usage('c1')).cost.models.get('fallback')).toMatchObject({ calls: 2 })
  expect(models.decision.requests.filter(({ role }) => role === 'decision')).toHaveLength(1) // it has said when to ask again
  expect((await store.head('c1'))?.waits).toEqual([])
  expect(await divergences()).toEqual([undefined])
})

it('is asked after the quick retries, and the usual model again when its time is over', async () => {
  const busy = failing({ kind: 'overloaded' })
  const { clock, agent, models, answeredBy, divergences } = await setUp(
    [busy, busy, busy, reply.answer('Usual.')],
    [reply.answer('One.'), reply.answer('Two.')],
  )
  expect((await agent.run('c1', 'One?').result).answer).toBe('One.')
  expect(models.decision.requests.filter(({ role }) => role === 'decision')).toHaveLength(3)
  expect((await agent.run('c1', 'Two?').result).answer).toBe('Two.')
  clock.advance(61_000)
  expect((await agent.run('c1', 'Three?').result).answer).toBe('Usual.')
  expect(await answeredBy()).toEqual(['fallback', 'fallback', 'usual'])
  expect(await divergences()).toEqual([undefined, undefined, undefined])
})

it('that fails too lets the turn wait for the usual model', async () => {
  const { clock, agent, answeredBy, divergences } = await setUp(
    [limited, reply.answer('Late.')],
    [failing({ kind: 'authentication', retryable: false })],
  )
  expect((await agent.run('c1', 'Hello?').result).waits).toMatchObject([{ kind: 'provider', expiresAt: '2026-01-01T00:10:00.000Z' }])
  clock.advance(600_000)
  await agent.recover()
  await agent.drain(5_000) // the agent may have gone on by itself before
  expect(JSON.stringify(await agent.archive.timeline('c1'))).toContain('Late.')
  expect(await answeredBy()).toEqual(['usual'])
  expect(await divergences()).toEqual([undefined])
})

it('that fails while the usual model is known to be busy lets the usual model be asked', async () => {
  const { agent, answeredBy } = await setUp(
    [limited, reply.answer('Two.')],
    [reply.answer('One.'), failing({ kind: 'invalid_request', retryable: false })],
  )
  await agent.run('c1', 'One?').result
  expect((await agent.run('c1', 'Two?').result).answer).toBe('Two.')
  expect(await answeredBy()).toEqual(['fallback', 'usual'])
})

it('that fails too is billed, and the failed call of the usual model is billed once', async () => {
  const busy: Reply = { error: { kind: 'overloaded', retryable: true, message: 'not now' }, usage }
  const { agent, models } = await setUp([busy, busy, busy], [busy, busy, busy])
  expect(await agent.run('c1', 'Hello?').result).toMatchObject({ exitReason: 'error', cost: { money: 3 * 3 + 3 * 1 + 3 } }) // and the title
  const { cost } = await agent.archive.usage('c1')
  expect([cost.models.get('usual')?.calls, cost.models.get('fallback')?.calls]).toEqual([3, 3])
  expect(models.fallback.left).toBe(0)
})

it('may speak another dialect', async () => {
  const { agent, answeredBy, divergences } = await setUp([limited], [toNative(read.text), toNative(reply.answer('Hello.'))], {
    dialect: 'native',
  })
  expect(await agent.run('c1', 'Hello?').result).toMatchObject({ answer: 'Hello.', exitReason: 'complete' })
  expect(await answeredBy()).toEqual(['fallback', 'fallback'])
  expect(await divergences()).toEqual([undefined])
})

it('is not asked for other errors, nor after users have seen a part of the answer', async () => {
  const refused = await setUp([failing({ kind: 'invalid_request', retryable: false })], [reply.answer('never')])
  expect((await refused.agent.run('c1', 'Hello?').result).exitReason).toBe('error')
  const cut: Reply = { text: reply.answer('Half of').slice(0, -20), error: { kind: 'connection', retryable: true, stage: 'after_output' } }
  const seen = await setUp([cut, reply.answer('Whole.')], [reply.answer('never')])
  expect((await seen.agent.run('c1', 'Hello?').result).answer).toBe('Whole.')
  expect([refused.models.fallback.left, seen.models.fallback.left]).toEqual([1, 1])
})

it('of the settings is the fallback of whichever model they choose', () => {
  const reader = createPdfReader()
  const choice = { model: 'offline', fallbackModel: scriptedModel([], { name: 'second' }) }
  expect(modelOf(choice, reader)).toMatchObject({ decision: { name: 'offline' }, fallback: { name: 'second' } })
  const roles = { decision: scriptedModel([], { name: 'first' }), fallback: scriptedModel([], { name: 'other' }) }
  expect(modelOf({ model: roles }, reader)).toMatchObject({ decision: { name: 'first' }, fallback: { name: 'other' } })
  expect(modelOf({ ...choice, model: roles }, reader)).toMatchObject({ decision: { name: 'first' }, fallback: { name: 'second' } })
  expect(modelOf({ model: 'offline' }, reader)).toMatchObject({ name: 'offline' })
})
