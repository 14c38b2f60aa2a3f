import { describe, expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { Failure } from '../../core/failure.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import type { AgentContext } from '../agent-context.ts'
import { watchBudgets } from '../budgets/call-budgets.ts'
import { createEventHub } from '../events/event-hub.ts'
import { createHooks } from '../hooks.ts'
import { agentSettings } from '../settings.ts'
import { createToolbox } from '../tools.ts'
import { createOwner } from './claim.ts'
import { createRenderers } from './renderers.ts'
import { createRunningConversations } from './running.ts'

/** The context of an agent and its running conversations, without an `Agent`. */
function createContext(replies: readonly string[]) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const hub = createEventHub(() => {})
  const model = scriptedModel(replies)
  const context: AgentContext = {
    store,
    clock,
    hosting: undefined,
    workspaces: undefined,
    hub,
    models: { decision: model, gate: model, compaction: model },
    namedModels: new Map(),
    toolbox: createToolbox([weather()]),
    speech: {
      dialect: 'channels',
      system: { text: '', tokens: () => 0, fingerprint: { hash: 0, tools: 0, size: 0 } },
      speakChannels: () => false,
    },
    settings: agentSettings(),
    budgetWatch: watchBudgets(store.budgets, agentSettings),
    hooks: createHooks([], { timeoutMs: 1000, onError: () => {} }),
    hooksDelayCompletion: false,
    createRenderers: () => createRenderers(roughTokens, () => false),
    onEntry: undefined,
    onProblem: () => {},
    onClosed: () => {},
  }
  const conversations = createRunningConversations(() => context, createOwner(clock))
  return { ...context, hub, conversations, model }
}

const message = (text: string) => ({ kind: 'message' as const, input: { text, attachments: [] } })

describe('a conversation that has finished', () => {
  it('leaves nothing behind: no running conversation, no feed in the hub, no lease', async () => {
    const { conversations, hub, store, clock } = createContext([
      reply.call('weather.today', { city: 'Rome' }),
      ...Array.from({ length: 60 }, () => reply.answer('Clear.')),
    ])
    const ids = Array.from({ length: 20 }, (_, n) => `c${n}`)
    const running = await Promise.all(ids.map((id) => conversations.start(id, message('Rome?'))))
    expect([conversations.size, hub.size]).toEqual([20, 20])
    await Promise.all(running.map((each) => each?.finished))
    expect([conversations.size, hub.size]).toEqual([0, 0])
    await store.claim('c0', { id: 'other', host: 'elsewhere', pid: 1 })
    expect((await store.list({ open: true })).conversations).toEqual([])
    expect(hub.inFlight('c0')).toEqual([])
    expect(clock.now()).toBe('2026-01-01T00:00:00.000Z')
  })

  it('leaves nothing behind after a failure either', async () => {
    const { conversations, hub, store } = createContext([reply.answer('Clear.')])
    const failing = { ...store, append: () => Promise.reject(new Failure('store.failed', 'the disk is full')) }
    const failingContext = { ...createContext([reply.answer('x')]), store: failing, hub }
    const board = createRunningConversations(() => failingContext, { id: 'o', host: 'h', pid: 1 })
    const running = await board.start('c1', message('Rome?'))
    await expect(running?.finished).rejects.toMatchObject({ code: 'store.failed' })
    await expect(running?.firstResult).rejects.toMatchObject({ code: 'store.failed' })
    expect([board.size, conversations.size, hub.size]).toEqual([0, 0, 0])
    await store.claim('c1', { id: 'other', host: 'elsewhere', pid: 1 })
  })

  it('starts again for a message that came while it was finishing', async () => {
    const { conversations } = createContext([reply.answer('One.'), reply.answer('Two.')])
    const first = await conversations.start('c1', message('First.'))
    await first?.firstResult
    const { running, acceptedEvent } = await conversations.deliverOrStart('c1', message('Second.'))
    const result = acceptedEvent ? running?.results.of(acceptedEvent.event_id) : running?.firstResult
    expect(await result).toMatchObject({ answer: 'Two.' })
    await running?.finished
    expect(conversations.size).toBe(0)
  })

  it('reports a failed start to its caller, and can be started again by a concurrent message', async () => {
    let attempts = 0
    const { store, ...context } = createContext([reply.answer('Two.')])
    const claim: typeof store.claim = (...given) =>
      ++attempts === 1 ? Promise.reject(new Failure('store.failed', 'no')) : store.claim(...given)
    const board = createRunningConversations(() => ({ ...context, store: { ...store, claim } }), { id: 'o', host: 'h', pid: 1 })
    const failing = board.start('c1', message('First.'))
    const second = board.deliverOrStart('c1', message('Second.'))
    await expect(failing).rejects.toMatchObject({ code: 'store.failed' })
    expect(await (await second).running?.firstResult).toMatchObject({ answer: 'Two.' })
  })
})

describe('a conversation that another process runs', () => {
  it('gets followups and feedback as offers, and no entry of this process', async () => {
    const { agent, store, journal } = createHarness({ replies: [] })
    await store.claim('c1', { id: 'other', host: 'elsewhere', pid: 1 })
    expect(await agent.send('c1', 'Hello.', { eventId: 'e1' })).toEqual({ how: 'followup', turnId: undefined, eventId: 'e1' })
    await agent.feedback('c1', '', { turnId: 't1' })
    expect((await store.readOffers('c1')).map(({ kind }) => kind)).toEqual(['followup', 'feedback'])
    expect(await journal()).toEqual([])
    await agent.close()
  })

  it('that is being deleted rejects messages as busy', async () => {
    const { agent, store } = createHarness({ replies: [] })
    await store.release(await store.claim('c1', { id: 'other', host: 'elsewhere', pid: 1 }))
    const removeFiles = () => Promise.reject(new Error('the folder is in use'))
    await expect(store.delete('c1', { removeFiles })).rejects.toThrow('in use')
    await expect(agent.send('c1', 'Hello.')).rejects.toMatchObject({ code: 'conversation.busy' })
  })
})
