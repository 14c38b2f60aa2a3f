import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { callUsages } from '../../src/core/cost/call-usage.ts'
import type { PriceOf } from '../../src/core/cost/price.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../src/testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { createReplays } from '../support/replay-all.ts'
import { weather } from '../support/scenario-tools.ts'
import { openTestStore } from '../support/stores.ts'

const replays = createReplays()
afterEach(replays.expectSame)
afterAll(() => expect(replays.count).toBeGreaterThan(5))

/** A call of a tool whose response takes 40,000 tokens. A decision may take at most about 25,000: its prompt, and an output of 20,000. */
const expensive: Reply = { text: reply.call('weather.today', { city: 'Rome' }), usage: { uncached: 100, output: 39_900 } }
const answer = (text: string): Reply => ({ text: reply.answer(text), usage: { uncached: 100, output: 10 } })

async function createWorld(limits: Parameters<Harness['agent']['budgets']['set']>[1] = { tokens: 100_000 }) {
  const clock = createFixedClock()
  const store = await openTestStore({ clock })
  const owner = createHarness({ clock, store, replies: [] })
  await owner.agent.budgets.set('tenant/local', limits)
  const harness = (replies: readonly Reply[], settings: HarnessOptions['settings'] = {}, more: Partial<HarnessOptions> = {}) =>
    createHarness(replays.note({ clock, store, replies, tools: [weather()], settings, ...more }))
  return { clock, store, harness, budget: async () => (await owner.agent.budgets.list({ prefix: 'tenant/' })).budgets[0] }
}

/** What the journals of all conversations say that was spent. */
async function journaledTokens(store: ConversationStore): Promise<number> {
  let tokens = 0
  for (const { conversationId } of (await store.list({ limit: 500 })).conversations)
    for await (const { change } of store.readJournal(conversationId, { after: 0 })) tokens += tokensOf(change)
  return tokens
}

const tokensOf = (change: Change): number =>
  change.type === 'response.received'
    ? callUsages(change).reduce((sum, { usage }) => sum + usage.uncached + usage.cacheRead + usage.cacheWrite + usage.output, 0)
    : 0

describe('a turn that reaches a budget', () => {
  it('wraps up if the budget has enough left for one last call, and the budget has what the journal says', async () => {
    const { store, harness, budget } = await createWorld()
    const { say, model } = harness([expensive, expensive, answer('That is all.')])
    expect(await say('Do it.')).toMatchObject({ exitReason: 'budget', answer: 'That is all.', ok: true })
    expect(model.left).toBe(0)
    expect(await budget()).toMatchObject({ spent: { tokens: await journaledTokens(store) }, reserved: { tokens: 0 } })
  })

  it('ends with a fixed text, without a call of the model, if nothing is left', async () => {
    const { store, harness, budget } = await createWorld({ tokens: 10 })
    const { say, model } = harness([])
    const { exitReason, answer: text } = await say('Do it.')
    expect([exitReason, text.includes('spending limit')]).toEqual(['budget', true])
    expect(model.requests).toEqual([]) // no title is asked for, either
    expect([(await budget())?.spent.tokens, await journaledTokens(store)]).toEqual([0, 0])
  })

  it('counts all conversations of a tenant together', async () => {
    const { store, clock, harness } = await createWorld()
    expect((await harness([expensive, expensive, answer('One.')]).say('Do it.')).exitReason).toBe('budget')
    const other = createHarness(replays.note({ store, clock, conversationId: 'c2', replies: [], tools: [weather()] }))
    expect((await other.say('Do it.')).exitReason).toBe('budget')
    const [left] = await other.agent.budgets.of('c2')
    expect(left).toMatchObject({ name: 'tenant/local', kind: 'tenant', limits: { tokens: 100_000 } })
    expect(left?.left.tokens).toBeLessThan(25_000)
  })

  it('of the settings: the limits apply to each conversation', async () => {
    const { harness } = await createWorld({})
    const settings = { budgets: { conversation: { tokens: 60_000 } } }
    const { say, agent } = harness([expensive, answer('Enough.')], settings)
    expect((await say('Do it.')).exitReason).toBe('budget')
    expect(await agent.budgets.of('c1')).toMatchObject([{ name: 'conversation/c1', limits: { tokens: 60_000 } }])
    expect(await agent.budgets.of('c2')).toMatchObject([{ name: 'conversation/c2', left: { tokens: 60_000 }, spent: { tokens: 0 } }])
  })

  it('asks a cheaper model if the usual one is too expensive', async () => {
    const priceOf: PriceOf = ({ output }, name) => (name === 'small' ? output / 1e6 : output / 1e3)
    const { harness, budget } = await createWorld({ money: 30 })
    const small = scriptedModel([answer('From the small one.')], { name: 'small' })
    const settings = { priceOf, budgets: { whenReached: 'cheaper-model' as const, cheaperModel: 'small' } }
    const first = { text: reply.call('weather.today', { city: 'Rome' }), usage: { uncached: 100, output: 19_000 } }
    const { say } = harness([first], settings, { models: { small } })
    expect(await say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'From the small one.' })
    expect((await budget())?.spent.money).toBeCloseTo(19 + 0.032 + 0.00001, 6) // with the title
    expect(() => createHarness({ replies: [], settings })).toThrow('budgets.cheaperModel')
  })

  it('ends before any call if money is limited and the price of the model is not known', async () => {
    const { harness } = await createWorld({ money: 1 })
    const { say, model } = harness([], { priceOf: () => undefined })
    expect(await say('Do it.')).toMatchObject({ exitReason: 'unpriced', ok: false })
    expect(model.requests).toEqual([])
  })

  it('has a limit of tokens of its own', async () => {
    const { harness } = await createWorld({})
    const { say } = harness([expensive, expensive, answer('Enough.')], { maxTurnTokens: 70_000 })
    expect(await say('Do it.')).toMatchObject({ exitReason: 'budget', answer: 'Enough.' })
  })
})

describe('a turn that asks for a larger budget', () => {
  const ask = { budgets: { whenReached: 'ask' as const } }

  it('waits, and goes on in any process when an operator has raised the budget, once', async () => {
    const { store, harness, budget } = await createWorld()
    const first = harness([expensive, expensive], ask)
    const { exitReason, waits } = await first.say('Do it.')
    expect({ exitReason, waits }).toMatchObject({
      exitReason: 'waiting',
      waits: [{ kind: 'budget', budget: 'tenant/local', approver: 'operator' }],
    })
    const waitId = waits?.[0]?.waitId ?? ''
    expect((await budget())?.reserved.tokens).toBe(0)
    await expect(first.agent.decide('c1', waitId, { approved: true })).rejects.toThrow('how much to add')
    await first.agent.close()
    const second = harness([answer('Done.')], ask)
    const decision = { approved: true, params: { tokens: 30_000 } }
    expect(await second.agent.decide('c1', waitId, decision)).toBe('recorded')
    await second.agent.recover()
    await second.agent.drain(30_000)
    expect((await second.journal()).at(-1)).toMatchObject({ type: 'turn.closed', exit_reason: 'complete' })
    expect(await second.agent.decide('c1', waitId, decision)).toBe('known')
    expect(await budget()).toMatchObject({ limits: { tokens: 130_000 }, spent: { tokens: await journaledTokens(store) } })
  })

  it('wraps up if the operator refuses, and does not ask again', async () => {
    const { harness, budget } = await createWorld()
    const { say, agent, journal } = harness([expensive, expensive, answer('As far as I got.')], ask)
    const { waits } = await say('Do it.')
    await agent.decide('c1', waits?.[0]?.waitId ?? '', { approved: false })
    await agent.drain(30_000)
    expect((await journal()).at(-1)).toMatchObject({ type: 'turn.closed', exit_reason: 'budget' })
    expect((await budget())?.limits).toEqual({ tokens: 100_000 })
  })

  it('wraps up when the time to answer is over, and stops if the user stops it', async () => {
    const { clock, harness } = await createWorld()
    const { say, agent, journal } = harness([expensive, expensive, answer('As far as I got.')], { ...ask, approvalSeconds: 60 })
    await say('Do it.')
    clock.advance(60_000)
    await agent.recover()
    await agent.drain(30_000)
    expect((await journal()).at(-1)).toMatchObject({ type: 'turn.closed', exit_reason: 'budget' })
    const stopped = (await createWorld({ tokens: 10 })).harness([], ask)
    expect((await stopped.say('Do it.')).exitReason).toBe('waiting')
    expect(await stopped.agent.stop('c1')).toBe(true)
    await stopped.agent.drain(30_000)
    expect((await stopped.journal()).at(-1)).toMatchObject({ type: 'turn.closed', exit_reason: 'steer' })
  })
})
