import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { type Agent, type AgentParts, createAgentFrom } from '../../src/agent/agent.ts'
import { Failure } from '../../src/core/failure.ts'
import { type ConversationStore, HEARTBEAT_MS, LEASE_MS, type Owner } from '../../src/ports/store.ts'
import { accepted } from '../../src/testing/conformance/store-fixture.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { answers, calls, type Reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { timelineText } from '../../src/testing/timeline-text.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { weather } from '../support/scenario-tools.ts'

const stranger: Owner = { id: 'stranger', host: 'elsewhere', pid: 1 }
const asksWeather = calls('weather.today', { city: 'Rome' })

function setUp() {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const problems: string[] = []
  const agentOf = (replies: readonly Reply[], parts: Partial<AgentParts> = {}): Agent =>
    createAgentFrom({
      model: scriptedModel(replies),
      tools: [weather()],
      store,
      clock,
      onProblem: ({ where }) => void problems.push(where),
      ...parts,
    })
  return { clock, store, problems, agentOf }
}

/** Says its piece when it is told to, or when it is stopped. */
function held() {
  const asked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const reply = (text: string): Reply => ({
    text,
    async onChunk() {
      asked.resolve()
      await go.promise
    },
  })
  return { asked: asked.promise, go: go.resolve, reply }
}

const storyOf = async (store: ConversationStore, conversation = 'c1') => {
  const saved = await store.loadVisible(conversation)
  return saved ? timelineText(saved.timeline) : ''
}

describe('a conversation that another process has taken over', () => {
  it('is left alone by the one that had it: nothing is entered, and nobody sees an error', async () => {
    const { store, agentOf } = setUp()
    const model = held()
    const stale = agentOf([asksWeather, model.reply(answers('Too late.'))]).run({ conversation: 'c1', input: 'Rome?' })
    await model.asked
    const before = await storyOf(store)
    const claim = await store.claim('c1', stranger, { takeOver: 'always' })
    model.go()
    expect(await stale.result).toMatchObject({ exitReason: 'cancelled', ok: false, answer: '' })
    expect(await storyOf(store)).toBe(before)
    await store.release(claim)

    const [result] = await agentOf([answers('Clear.')]).recover()
    expect(result).toMatchObject({ exitReason: 'complete', answer: 'Clear.' })
  })

  it('is noticed by the next heartbeat: the model call is stopped, not waited for', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { store, agentOf } = setUp()
    const asked = Promise.withResolvers<void>()
    const silent: Reply = () => {
      asked.resolve()
      return { text: '<channel:thinking>Hm', stall: true }
    }
    const stale = agentOf([silent]).run({ conversation: 'c1', input: 'Rome?' })
    await asked.promise
    await store.claim('c1', stranger, { takeOver: 'always' })
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
    expect(await stale.result).toMatchObject({ exitReason: 'cancelled' })
  })
})

describe('the lease of a running turn', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))

  it('is renewed for as long as the model takes', async () => {
    const { clock, store, agentOf } = setUp()
    const model = held()
    const turn = agentOf([model.reply(answers('At last.'))]).run({ conversation: 'c1', input: 'Rome?' })
    await model.asked
    for (let beat = 0; beat < 6; beat++) {
      clock.advance(HEARTBEAT_MS)
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
      await expect(store.claim('c1', stranger)).rejects.toMatchObject({ code: 'conversation.busy' })
    }
    model.go()
    expect(await turn.result).toMatchObject({ exitReason: 'complete' })
    await store.claim('c1', stranger) // given back
  })

  it('survives a beat that failed: the turn goes on, and somebody is told', async () => {
    const { clock, store, problems, agentOf } = setUp()
    const model = held()
    let failures = 1
    const renew: ConversationStore['renew'] = async (claim) => {
      if (failures-- > 0) throw new Failure('store.failed', 'the disk is slow today')
      await store.renew(claim)
    }
    const turn = agentOf([model.reply(answers('At last.'))], { store: { ...store, renew } }).run({ conversation: 'c1', input: 'Rome?' })
    await model.asked
    for (let beat = 0; beat < 2; beat++) {
      clock.advance(HEARTBEAT_MS)
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
    }
    await expect(store.claim('c1', stranger)).rejects.toMatchObject({ code: 'conversation.busy' })
    model.go()
    expect(await turn.result).toMatchObject({ exitReason: 'complete' })
    expect(problems).toEqual(['heartbeat'])
  })
})

describe('recover', () => {
  /** Leaves a turn behind whose call has no result. */
  async function leaveBehind({ clock, store, agentOf }: ReturnType<typeof setUp>, conversation: string) {
    const append: ConversationStore['append'] = async (claim, changes) => {
      const entries = await store.append(claim, changes)
      if (changes.some((change) => change.type === 'response.received' && change.role === undefined))
        throw new Failure('store.failed', 'gone')
      return entries
    }
    const broken = { ...store, append, release: async () => {} }
    await agentOf([asksWeather], { store: broken })
      .run({ conversation, input: 'Rome?' })
      .result.catch(() => {})
    clock.advance(LEASE_MS + 1)
  }

  it('takes up every turn that was left behind, skips what others hold, and leaves closed conversations alone', async () => {
    const scene = setUp()
    for (const conversation of ['c1', 'c2', 'c3']) await leaveBehind(scene, conversation)
    await scene.agentOf([answers('Done.')]).run({ conversation: 'closed', input: 'Hello' }).result
    await scene.store.claim('c2', stranger)
    const agent = scene.agentOf([answers('Clear.'), answers('Clear.')])
    const results = await agent.recover()
    expect(results.map(({ answer }) => answer)).toEqual(['Clear.', 'Clear.'])
    expect((await scene.store.list({ open: true })).conversations.map(({ conversationId }) => conversationId)).toEqual(['c2'])
    expect(await agent.recover()).toEqual([])
  })

  it('does not let a slow turn hold up the others', async () => {
    const scene = setUp()
    for (const conversation of ['c1', 'c2']) await leaveBehind(scene, conversation)
    const model = held()
    const replies: readonly Reply[] = [model.reply(answers('Slow.')), answers('Quick.')]
    const agent = scene.agentOf(replies)
    const recovered = agent.recover()
    await expect.poll(async () => (await scene.store.list({ open: true })).conversations.length).toBe(1)
    model.go()
    expect((await recovered).map(({ answer }) => answer).sort()).toEqual(['Quick.', 'Slow.'])
  })

  it('takes up the rest when one cannot be taken up, and says so in the end', async () => {
    const scene = setUp()
    for (const conversation of ['c1', 'c2']) await leaveBehind(scene, conversation)
    const append: ConversationStore['append'] = (claim, changes) =>
      claim.conversationId === 'c1' ? Promise.reject(new Failure('store.failed', 'bad sector')) : scene.store.append(claim, changes)
    const agent = scene.agentOf([answers('Clear.')], { store: { ...scene.store, append } })
    await expect(agent.recover()).rejects.toMatchObject({ errors: [{ code: 'store.failed' }] })
    expect((await scene.store.list({ open: true })).conversations.map(({ conversationId }) => conversationId)).toEqual(['c1'])
  })

  it('says that the outcome is unknown when the tool is no longer there, and the agent decides', async () => {
    const scene = setUp()
    await leaveBehind(scene, 'c1')
    const [result] = await scene.agentOf([answers('I could not find out.')], { tools: [] }).recover()
    expect(result).toMatchObject({ exitReason: 'complete' })
    expect(await storyOf(scene.store)).toMatch(/tool_call_error\.outcome_unknown: weather\.today was interrupted by a restart/)
  })

  it('says the same of a harmless tool that a steer would stop at once: it may have run before', async () => {
    const scene = setUp()
    await leaveBehind(scene, 'c1')
    const claim = await scene.store.claim('c1', stranger)
    await scene.store.append(claim, [accepted('e1', 1, 'steer')])
    await scene.store.release(claim)
    const [result] = await scene.agentOf([answers('As you wish.')]).recover()
    expect(result).toMatchObject({ exitReason: 'complete', answer: 'As you wish.' })
    expect(await storyOf(scene.store)).toMatch(/tool_call_error\.outcome_unknown: weather\.today was interrupted by a restart/)
  })

  it('runs a harmless tool again under the same key, with what the model wrote and not what the call shows of it', async () => {
    const scene = setUp()
    const seen: unknown[] = []
    const city = `Rome${' and all the hills around it'.repeat(120)}` // longer than what a call block shows
    const tool: Tool = {
      ...weather(),
      async run(params, call) {
        seen.push([params, call.idempotencyKey])
        return weather().run({ city: 'Rome' }, call)
      },
    }
    const append: ConversationStore['append'] = async (claim, changes) => {
      if (changes.some((change) => change.type === 'blocks.appended' && change.blocks.some(({ type }) => type === 'react.tool.result'))) {
        throw new Failure('store.failed', 'gone')
      }
      return scene.store.append(claim, changes)
    }
    const replies = [calls('weather.today', { city })]
    await scene
      .agentOf(replies, { tools: [tool], store: { ...scene.store, append } })
      .run({ conversation: 'c1', input: 'Rome?' })
      .result.catch(() => {})
    await scene.agentOf([answers('Clear.')], { tools: [tool] }).recover()
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(seen[0]).toMatchObject([{ city }, expect.stringMatching(/^c1\/turn_\w+\/\w{12}$/)])
  })

  it('makes what is said to such a conversation part of the turn that was left behind', async () => {
    const scene = setUp()
    await leaveBehind(scene, 'c1')
    const result = await scene.agentOf([answers('Rome and Paris are clear.')]).run({ conversation: 'c1', input: 'And Paris?' }).result
    expect(result).toMatchObject({ answer: 'Rome and Paris are clear.' })
    const lines = (await storyOf(scene.store)).split('\n').map((line) => line.trim().replace(/\s+/g, ' '))
    expect(lines.filter((line) => /user\.|turn\.header/.test(line))).toEqual([
      'turn.header',
      'user.prompt Rome?',
      'user.followup And Paris?',
    ])
  })
})

afterEach(() => void vi.useRealTimers())

describe('a model that is cut off anywhere', () => {
  it('never breaks the turn: at every character of a call and of an answer, the user gets a sentence and the journal is closed', async () => {
    for (const whole of [asksWeather, answers('It is clear.', { followups: ['And tomorrow?'] })]) {
      for (let cut = 1; cut < whole.length; cut++) {
        const { store, agentOf } = setUp()
        const text = whole.slice(0, cut)
        const agent = agentOf([{ text, error: { message: 'connection reset' } }, answers('Again: clear.'), answers('Again: clear.')])
        const { ok, answer } = await agent.run({ conversation: 'c1', input: 'Rome?' }).result
        expect({ cut, ok, said: answer !== '' }).toEqual({ cut, ok: true, said: true })
        expect((await store.loadVisible('c1'))?.timeline.openTurn).toBeUndefined()
      }
    }
  })
})
