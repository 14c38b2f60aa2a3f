import { hostname } from 'node:os'
import { setImmediate as nextTask } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type AgentParts, createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import { Failure } from '../../src/core/failure.ts'
import { type ConversationStore, HEARTBEAT_MS, LEASE_MS, type Owner } from '../../src/ports/store.ts'
import { accepted } from '../../src/testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { timelineText } from '../../src/testing/timeline-text.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { weather } from '../support/scenario-tools.ts'
import { isTried, openTestStore } from '../support/stores.ts'

const otherProcess: Owner = { id: 'other', host: 'elsewhere', pid: 1 }
const weatherCall = reply.call('weather.today', { city: 'Rome' })

async function setUp() {
  const clock = createFixedClock()
  const store = await openTestStore({ clock })
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

/** A model whose reply waits until `resume` is called or the call is aborted. */
function pausedModel() {
  const called = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  const reply = (text: string): Reply => ({
    text,
    async onChunk() {
      called.resolve()
      await resumed.promise
    },
  })
  return { called: called.promise, resume: resumed.resolve, reply }
}

/** When the lease of a conversation ends. Fails if another process can take it. */
async function expiryOf(store: ConversationStore): Promise<string> {
  await nextTask()
  const refused: unknown = await store.claim('c1', otherProcess).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'conversation.busy', details: { expiresAt: expect.any(String) } })
  return (refused as { readonly details: { readonly expiresAt: string } }).details.expiresAt
}

const timelineTextOf = async (store: ConversationStore, conversationId = 'c1') => {
  const saved = await store.loadVisible(conversationId)
  return saved ? timelineText(saved.timeline) : ''
}

describe('a conversation that another process took over', () => {
  it('gets no further entries from the previous owner, whose turn ends as cancelled without an error', async () => {
    const { store, agentOf } = await setUp()
    const model = pausedModel()
    const stale = agentOf([weatherCall, model.reply(reply.answer('Too late.'))]).run('c1', 'Rome?')
    await model.called
    const before = await timelineTextOf(store)
    const claim = await store.claim('c1', otherProcess, { takeOver: 'always' })
    model.resume()
    expect(await stale.result).toMatchObject({ exitReason: 'cancelled', ok: false, answer: '' })
    expect(await timelineTextOf(store)).toBe(before)
    await store.release(claim)

    const { results } = await agentOf([reply.answer('Clear.')]).recover()
    expect(results).toMatchObject([{ exitReason: 'complete', answer: 'Clear.' }])
  })

  it('is detected by the next heartbeat, which aborts the running model call', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { store, agentOf } = await setUp()
    const called = Promise.withResolvers<void>()
    const silent: Reply = () => {
      called.resolve()
      return { text: '<channel:thinking>Hm', stall: true }
    }
    const stale = agentOf([silent]).run('c1', 'Rome?')
    await called.promise
    await store.claim('c1', otherProcess, { takeOver: 'always' })
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
    expect(await stale.result).toMatchObject({ exitReason: 'cancelled' })
  })
})

it('two agents in one process do not take each other for dead', async () => {
  const { store, agentOf } = await setUp()
  const model = pausedModel()
  const turn = agentOf([model.reply(reply.answer('Mine.'))]).run('c1', 'Rome?')
  await model.called
  const second = agentOf([])
  const owner = { host: hostname(), pid: process.pid }
  expect(await second.recover()).toMatchObject({ results: [], skipped: [{ conversationId: 'c1', owner }] })
  await expect(second.archive.rename('c1', 'Mine')).rejects.toMatchObject({
    code: 'conversation.busy',
    message: expect.stringContaining(`process ${process.pid} on ${hostname()} (another agent in this process) until`),
  })
  model.resume()
  expect(await turn.result).toMatchObject({ exitReason: 'complete', answer: 'Mine.' })
  expect((await store.list({ open: true })).conversations).toEqual([])
})

describe('the lease of a running turn', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))

  it('is renewed while the model call runs', async () => {
    const { clock, store, agentOf } = await setUp()
    const model = pausedModel()
    const turn = agentOf([model.reply(reply.answer('At last.'))]).run('c1', 'Rome?')
    await model.called
    let expiresAt = await expiryOf(store)
    for (let n = 0; n < 6; n++) {
      clock.advance(HEARTBEAT_MS)
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
      const before = expiresAt
      while (expiresAt === before) expiresAt = await expiryOf(store) // a database needs a moment to renew it
      expect(expiresAt > before).toBe(true)
    }
    model.resume()
    expect(await turn.result).toMatchObject({ exitReason: 'complete' })
    await store.claim('c1', otherProcess) // succeeds because the lease was released
  })

  it('is not lost by one failed heartbeat: the turn continues, and onProblem reports the failure', async () => {
    const { clock, store, problems, agentOf } = await setUp()
    const model = pausedModel()
    let failures = 1
    const renew: ConversationStore['renew'] = async (claim) => {
      if (failures-- > 0) throw new Failure('store.failed', 'the disk is slow today')
      await store.renew(claim)
    }
    const turn = agentOf([model.reply(reply.answer('At last.'))], { store: { ...store, renew } }).run('c1', 'Rome?')
    await model.called
    for (let n = 0; n < 2; n++) {
      clock.advance(HEARTBEAT_MS)
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
    }
    await expect(store.claim('c1', otherProcess)).rejects.toMatchObject({ code: 'conversation.busy' })
    model.resume()
    expect(await turn.result).toMatchObject({ exitReason: 'complete' })
    expect(problems).toEqual(['heartbeat'])
  })
})

describe('recover', () => {
  /** Leaves an open turn with a tool call that has no result. */
  async function crashDuringCall({ clock, store, agentOf }: Awaited<ReturnType<typeof setUp>>, conversationId: string) {
    const append: ConversationStore['append'] = async (claim, changes) => {
      const entries = await store.append(claim, changes)
      if (changes.some((change) => change.type === 'response.received' && change.role === undefined))
        throw new Failure('store.failed', 'gone')
      return entries
    }
    const broken = { ...store, append, release: async () => {} }
    await agentOf([weatherCall], { store: broken })
      .run(conversationId, 'Rome?')
      .result.catch(() => {})
    clock.advance(LEASE_MS + 1)
  }

  it('resumes every unfinished turn, skips conversations that another process owns, and does not touch closed ones', async () => {
    const setup = await setUp()
    for (const conversationId of ['c1', 'c2', 'c3']) await crashDuringCall(setup, conversationId)
    await setup.agentOf([reply.answer('Done.')]).run('closed', 'Hello').result
    const { expiresAt } = await setup.store.claim('c2', otherProcess)
    const agent = setup.agentOf([reply.answer('Clear.'), reply.answer('Clear.')])
    const skipped = [{ conversationId: 'c2', until: expiresAt, owner: { host: 'elsewhere', pid: 1 } }]
    const { results, ...rest } = await agent.recover()
    expect(rest).toEqual({ skipped })
    expect(results.map(({ answer }) => answer)).toEqual(['Clear.', 'Clear.'])
    expect((await setup.store.list({ open: true })).conversations.map(({ conversationId }) => conversationId)).toEqual(['c2'])
    expect(await agent.recover()).toEqual({ results: [], skipped })
  })

  it('resumes the other turns while one turn is slow', async () => {
    const setup = await setUp()
    for (const conversationId of ['c1', 'c2']) await crashDuringCall(setup, conversationId)
    const model = pausedModel()
    const replies: readonly Reply[] = [model.reply(reply.answer('Slow.')), reply.answer('Quick.')]
    const agent = setup.agentOf(replies)
    const recovered = agent.recover()
    await expect.poll(async () => (await setup.store.list({ open: true })).conversations.length).toBe(1)
    model.resume()
    expect((await recovered).results.map(({ answer }) => answer).sort()).toEqual(['Quick.', 'Slow.'])
  })

  it('resumes the remaining turns when one can not be resumed, and then rejects with the error', async () => {
    const setup = await setUp()
    for (const conversationId of ['c1', 'c2']) await crashDuringCall(setup, conversationId)
    const append: ConversationStore['append'] = (claim, changes) =>
      claim.conversationId === 'c1' ? Promise.reject(new Failure('store.failed', 'bad sector')) : setup.store.append(claim, changes)
    const agent = setup.agentOf([reply.answer('Clear.')], { store: { ...setup.store, append } })
    await expect(agent.recover()).rejects.toMatchObject({ errors: [{ code: 'store.failed' }] })
    expect((await setup.store.list({ open: true })).conversations.map(({ conversationId }) => conversationId)).toEqual(['c1'])
  })

  it('reports an unknown outcome when the tool no longer exists, and the model decides how to continue', async () => {
    const setup = await setUp()
    await crashDuringCall(setup, 'c1')
    const { results } = await setup.agentOf([reply.answer('I could not find out.')], { tools: [] }).recover()
    expect(results).toMatchObject([{ exitReason: 'complete' }])
    expect(await timelineTextOf(setup.store)).toMatch(/tool_call_error\.outcome_unknown: weather\.today was interrupted by a restart/)
  })

  it('reports an unknown outcome for a repeatable tool that a waiting steer would stop at once, because it may have run before', async () => {
    const setup = await setUp()
    await crashDuringCall(setup, 'c1')
    const claim = await setup.store.claim('c1', otherProcess)
    await setup.store.append(claim, [accepted('e1', 1, 'steer')])
    await setup.store.release(claim)
    const { results } = await setup.agentOf([reply.answer('As you wish.')]).recover()
    expect(results).toMatchObject([{ exitReason: 'complete', answer: 'As you wish.' }])
    expect(await timelineTextOf(setup.store)).toMatch(/tool_call_error\.outcome_unknown: weather\.today was interrupted by a restart/)
  })

  it('repeats a repeatable tool with the same idempotency key and the complete parameters, not the shortened ones of the call block', async () => {
    const setup = await setUp()
    const runs: unknown[] = []
    const city = `Rome${' and all the hills around it'.repeat(120)}` // longer than the text that a call block contains
    const tool: Tool = {
      ...weather(),
      async run(params, call) {
        runs.push([params, call.idempotencyKey])
        return weather().run({ city: 'Rome' }, call)
      },
    }
    const append: ConversationStore['append'] = async (claim, changes) => {
      if (changes.some((change) => change.type === 'blocks.appended' && change.blocks.some(({ type }) => type === 'react.tool.result'))) {
        throw new Failure('store.failed', 'gone')
      }
      return setup.store.append(claim, changes)
    }
    const replies = [reply.call('weather.today', { city })]
    await setup
      .agentOf(replies, { tools: [tool], store: { ...setup.store, append } })
      .run('c1', 'Rome?')
      .result.catch(() => {})
    await setup.agentOf([reply.answer('Clear.')], { tools: [tool] }).recover()
    expect(runs).toHaveLength(2)
    expect(runs[1]).toEqual(runs[0])
    expect(runs[0]).toMatchObject([{ city }, expect.stringMatching(/^c1\/turn_\w+\/\w{12}$/)])
  })

  it('adds a new message to the unfinished turn as a followup', async () => {
    const setup = await setUp()
    await crashDuringCall(setup, 'c1')
    const result = await setup.agentOf([reply.answer('Rome and Paris are clear.')]).run('c1', 'And Paris?').result
    expect(result).toMatchObject({ answer: 'Rome and Paris are clear.' })
    const lines = (await timelineTextOf(setup.store)).split('\n').map((line) => line.trim().replace(/\s+/g, ' '))
    expect(lines.filter((line) => /user\.|turn\.header/.test(line))).toEqual([
      'turn.header',
      'user.prompt Rome?',
      'user.followup And Paris?',
    ])
  })
})

afterEach(() => void vi.useRealTimers())

describe('a model whose stream is cut off', () => {
  it('at any character of a call or an answer gives an answer and a closed turn', async () => {
    for (const whole of [weatherCall, reply.answer('It is clear.', { followups: ['And tomorrow?'] })]) {
      for (let cut = 1; cut < whole.length; cut++) {
        if (!isTried(cut)) continue
        const { store, agentOf } = await setUp()
        const text = whole.slice(0, cut)
        const agent = agentOf([
          { text, error: { message: 'connection reset' } },
          reply.answer('Again: clear.'),
          reply.answer('Again: clear.'),
        ])
        const { ok, answer } = await agent.run('c1', 'Rome?').result
        expect({ cut, ok, answered: answer !== '' }).toEqual({ cut, ok: true, answered: true })
        expect((await store.loadVisible('c1'))?.timeline.openTurn).toBeUndefined()
      }
    }
  })
})
