import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { failingStore } from '../../test/support/crash/failing-store.ts'
import { createReplays } from '../../test/support/replay-all.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import type { ChildRecord } from '../core/cost/child-calls.ts'
import type { Change } from '../core/timeline/change.ts'
import { blocksOf } from '../core/timeline/timeline.ts'
import { type ConversationStore, LEASE_MS } from '../ports/store.ts'
import { createFixedClock } from '../testing/fixed-clock.ts'
import { type Reply, reply, type ScriptedModel, scriptedModel } from '../testing/scripted-model.ts'
import { defineTool } from '../tools/define.ts'
import type { Tool } from '../tools/tool.ts'
import { createAgentFrom } from './agent.ts'
import { agentTool, childConversationId } from './agent-tool.ts'

const replays = createReplays()
afterEach(replays.expectSame)
afterAll(() => expect(replays.count).toBeGreaterThan(10))

const usage = { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 10 }
const priced = (text: string): Reply => ({ text, usage })
const params = z.object({ task: z.string() })
const description = 'Knows the weather.'
const askWeather = reply.call('agents.ask', { task: 'How is Rome?' })

function setUp() {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const create = (model: ScriptedModel, tools: readonly Tool[], over: ConversationStore = store, limits: { maxMoney?: number } = {}) =>
    createAgentFrom({
      ...replays.note({ store, tools, settings: { stopGraceMs: 2_000, priceOf: () => 1, ...limits } }),
      model,
      store: over,
      clock,
      bookkeeping: { chargeOf: ({ uncached }) => ({ uncached, cacheRead: 0, cacheWrite: 0, output: 0 }), rulesOf: () => undefined },
    })
  const journal = async (key: string) => {
    const changes: Change[] = []
    for await (const { change } of store.readJournal(key, { after: 0 })) changes.push(change)
    return changes
  }
  const resultBlock = async (key = 'c1') => {
    const timeline = (await store.loadVisible(key))?.timeline
    return (timeline ? blocksOf(timeline) : []).findLast(({ type, meta }) => type === 'react.tool.result' && meta?.child !== undefined)
  }
  const childOf = async (key = 'c1') => (await resultBlock(key))?.meta?.child as ChildRecord
  return { clock, store, create, journal, resultBlock, childOf }
}

/** The id of the conversation that the first call of `c1` has opened. */
async function openedChild(store: ConversationStore): Promise<string> {
  const { conversations } = await store.list({ prefix: 'c1~call_' })
  return conversations[0]?.conversationId ?? ''
}

describe('a sub-agent', () => {
  it('answers in a conversation of its own, which is linked, can be followed and is not listed', async () => {
    const { create, resultBlock, childOf } = setUp()
    const helper = create(scriptedModel([reply.answer('Rome is clear.')]), [])
    const boss = create(scriptedModel([askWeather, reply.answer('It is clear.')]), [agentTool(helper, { description, params })])
    const { answer } = await boss.run('c1', 'Rome?').result
    expect([answer, (await resultBlock())?.text]).toEqual(['It is clear.', 'Rome is clear.'])
    const { conversation_id, turn_id } = await childOf()
    const { turn_id: turnId, call_id: callId } = (await resultBlock()) ?? {}
    expect(conversation_id).toBe(childConversationId(`c1/${turnId}/${callId}`))
    expect((await boss.archive.list({})).conversations.map(({ conversationId }) => conversationId)).toEqual(['c1'])
    const closed: string[] = []
    for await (const event of boss.follow(conversation_id)) {
      if (event.type !== 'entry' || event.change.type !== 'turn.closed') continue
      closed.push(event.change.turn_id)
      break
    }
    expect(closed).toEqual([turn_id])
  })

  it('is billed to its caller once, also the sub-agents of a sub-agent', async () => {
    const { create, childOf } = setUp()
    const expert = create(scriptedModel([priced(reply.answer('21 degrees.'))]), [])
    const helper = create(scriptedModel([priced(askWeather), priced(reply.answer('Clear.'))]), [agentTool(expert, { description, params })])
    const boss = create(scriptedModel([priced(askWeather), priced(reply.answer('Good.'))]), [agentTool(helper, { description, params })])
    const result = await boss.run('c1', 'Rome?').result
    const own = 2 + 1 // decisions and the title
    const { calls } = await childOf()
    expect(calls).toHaveLength(2 + 1 + 1 + 1)
    expect(result.usage.calls).toBe(own + calls.length)
    expect(result.cost).toEqual({ money: own + calls.length })
    expect((await boss.archive.turnResult('c1', result.turnId)).cost).toEqual(result.cost)
    const { cost } = await boss.archive.usage('c1')
    expect(cost.total.calls).toBe(own + calls.length)
    expect(cost.roles.get('child')).toMatchObject({ calls: calls.length, tokens: { uncached: expect.any(Number) } })
    expect(calls.filter((call) => call.usage.uncached === 100)).toHaveLength(3)
  })

  it('counts for the money limit of its caller', async () => {
    const { create, store, childOf } = setUp()
    const helper = create(scriptedModel([priced(askWeather), priced(reply.answer('Rome is clear.'))]), [])
    const answer = reply.answer('That is all I could afford.')
    const boss = create(scriptedModel([priced(askWeather), priced(answer)]), [agentTool(helper, { description, params })], store, {
      maxMoney: 4,
    })
    const { exitReason, cost } = await boss.run('c1', 'Rome?').result
    const own = 2 + 1 // decisions and the title
    expect([exitReason, cost]).toEqual(['budget', { money: own + (await childOf()).calls.length }])
  })

  it('is deleted with its caller, even while it runs', async () => {
    const { create, store } = setUp()
    const started = Promise.withResolvers<void>()
    const slow = defineTool({
      id: 'slow.work',
      description: 'Takes its time.',
      params: z.object({}),
      run: (_, { signal }) => {
        started.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
      },
    })
    const helper = create(scriptedModel([reply.call('slow.work'), reply.answer('Done.')]), [slow])
    const boss = create(scriptedModel([askWeather, reply.answer('Done.')]), [agentTool(helper, { description, params })])
    const turn = boss.run('c1', 'Rome?').result.catch(() => {})
    await started.promise
    const child = await openedChild(store)
    expect(await store.head(child)).toBeDefined()
    await boss.archive.delete('c1')
    await turn
    expect([await store.head('c1'), await store.head(child)]).toEqual([undefined, undefined])
  })

  it('is stopped when the user steers its caller', async () => {
    const { create, store, resultBlock } = setUp()
    const started = Promise.withResolvers<void>()
    const slow = defineTool({
      id: 'slow.work',
      description: 'Takes its time.',
      params: z.object({}),
      run: (_, { signal }) => {
        started.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
      },
    })
    const helper = create(scriptedModel([reply.call('slow.work')]), [slow])
    const boss = create(scriptedModel([askWeather, reply.answer('Then Paris.')]), [agentTool(helper, { description, params })])
    const turn = boss.run('c1', 'Rome?').result
    await started.promise
    await boss.steer('c1', 'Paris, please.')
    expect((await turn).answer).toBe('Then Paris.')
    expect((await store.head(await openedChild(store)))?.openTurn).toBeNull()
    expect((await resultBlock())?.text).toContain('I stopped as you asked.')
  })

  it('can be nested three levels deep', async () => {
    const { create, store } = setUp()
    const deepest = create(scriptedModel([reply.answer('Too deep.')]), [])
    let agent = deepest
    for (const level of [3, 2, 1, 0]) {
      const tools = [agentTool(agent, { description, params })]
      agent = create(scriptedModel([askWeather, reply.answer(`Level ${level}.`)]), tools)
    }
    expect((await agent.run('c1', 'Rome?').result).answer).toBe('Level 0.')
    const { conversations } = await store.list({ prefix: 'c1~call_' })
    expect(conversations.map(({ conversationId }) => conversationId.split('~call_').length - 1).sort()).toEqual([1, 2, 3])
    const last = conversations.find(({ conversationId }) => conversationId.split('~call_').length === 4)?.conversationId ?? ''
    expect(
      JSON.stringify((await store.loadVisible(last))?.timeline && blocksOf((await store.loadVisible(last))?.timeline as never)),
    ).toContain('too_deep')
  })

  it.each([
    ['the caller dies before the sub-agent is asked', 3, 'after'],
    ['the caller dies before the result is stored', 4, 'before'],
    ['the caller dies after the result is stored', 4, 'after'],
  ] as const)('continues after a crash and does no work twice: %s', async (_, append, side) => {
    const { clock, store, create, journal, childOf } = setUp()
    const helperModel = scriptedModel([reply.answer('Rome is clear.'), reply.answer('asked twice')])
    const helper = () => create(helperModel, [])
    const first = create(scriptedModel([askWeather]), [agentTool(helper(), { description, params })], failingStore(store, { append, side }))
    await first.run('c1', 'Rome?').result.catch(() => {})
    clock.advance(LEASE_MS + 1)
    const second = create(scriptedModel([reply.answer('It is clear.')]), [agentTool(helper(), { description, params })])
    const { results } = await second.recover()
    expect(results.map(({ answer }) => answer)).toEqual(['It is clear.'])
    const { conversation_id } = await childOf()
    expect((await store.list({ prefix: 'c1~call_' })).conversations.map(({ conversationId }) => conversationId)).toEqual([conversation_id])
    const changes = await journal(conversation_id)
    expect(changes.filter((change) => change.type === 'response.received' && !change.role)).toHaveLength(1)
    expect(changes.filter(({ type }) => type === 'turn.closed')).toHaveLength(1)
  })

  it('whose process died is resumed by its own agent, not by that of its caller', async () => {
    const { clock, store, create, journal } = setUp()
    const looks: string[] = []
    const look = defineTool({
      id: 'sky.look',
      description: 'Looks.',
      params: z.object({}),
      repeatable: true,
      run: () => looks.push('look'),
    })
    // the helper dies when it stores the result of its tool
    const dying = create(scriptedModel([reply.call('sky.look')]), [look], failingStore(store, { append: 4, side: 'before' }))
    const first = create(
      scriptedModel([askWeather]),
      [agentTool(dying, { description, params })],
      failingStore(store, { append: 4, side: 'before' }),
    )
    first.run('c1', 'Rome?').result.catch(() => {})
    await expect.poll(() => looks.length).toBe(1)
    clock.advance(LEASE_MS + 1)
    const helper = create(scriptedModel([reply.answer('Clear.')]), [look])
    const second = create(scriptedModel([reply.answer('It is clear.')]), [agentTool(helper, { description, params })])
    const { results } = await second.recover()
    expect(results.map(({ answer }) => answer)).toEqual(['It is clear.'])
    const changes = await journal(await openedChild(store))
    expect(changes.filter((change) => change.type === 'response.received' && !change.role)).toHaveLength(2)
    expect(looks).toHaveLength(2) // the tool is repeatable, so it ran twice
  })

  it('whose process died is stopped if the user has steered its caller before the next process came', async () => {
    const { clock, store, create, resultBlock } = setUp()
    const looks: string[] = []
    const look = defineTool({ id: 'sky.look', description: 'Looks.', params: z.object({}), run: () => looks.push('look') })
    const dying = create(scriptedModel([reply.call('sky.look')]), [look], failingStore(store, { append: 4, side: 'before' }))
    const first = create(
      scriptedModel([askWeather]),
      [agentTool(dying, { description, params })],
      failingStore(store, { append: 4, side: 'before' }),
    )
    first.run('c1', 'Rome?').result.catch(() => {})
    await expect.poll(() => looks.length).toBe(1)
    clock.advance(LEASE_MS + 1)
    const turn = { target_turn_id: (await store.head('c1'))?.openTurn ?? '' }
    await store.offer('c1', { event_id: 's1', kind: 'steer', ts: clock.now(), text: 'Paris, please.', ...turn })
    const helper = create(scriptedModel([{ text: reply.answer('never'), delayMs: 1_000 }]), [look])
    const second = create(scriptedModel([reply.answer('Then Paris.')]), [agentTool(helper, { description, params })])
    expect((await second.recover()).results.map(({ answer }) => answer)).toEqual(['Then Paris.'])
    expect((await store.head(await openedChild(store)))?.openTurn).toBeNull()
    expect((await resultBlock())?.text).toContain('I stopped as you asked.')
    expect(looks).toHaveLength(1)
  })

  it('needs an agent', () => {
    expect(() => agentTool({} as never, { description, params })).toThrow('an agent of createAgent is expected')
  })
})
