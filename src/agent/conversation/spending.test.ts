import { describe, expect, it } from 'vitest'
import { failingStore } from '../../../test/support/crash/failing-store.ts'
import { weather } from '../../../test/support/scenario-tools.ts'
import { answering, decisions, runTurnWith, stopTurn } from '../../../test/support/watch-turn.ts'
import { costReport } from '../../core/cost/cost.ts'
import type { PriceOf } from '../../core/cost/price.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { LEASE_MS } from '../../ports/store.ts'
import { createHarness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply, type ScriptedReply, scriptedModel } from '../../testing/scripted-model.ts'
import { createAgentFrom } from '../agent.ts'
import { replay } from '../replay/replay.ts'

const usage = { uncached: 1_000, output: 100 }
const call = { text: reply.call('weather.today', { city: 'Rome' }), usage }
/** `call` costs 2. Replies without usage are free. */
const priceOf: PriceOf = ({ uncached }) => uncached / 500

const createTestHarness = (replies: readonly Reply[], settings: HarnessOptions['settings']) =>
  createHarness({ replies, tools: [weather()], ...(settings && { settings }) })

describe('a limit on money', () => {
  it('ends the turn with a wrap-up call', async () => {
    const harness = createTestHarness([call, call, call, reply.answer('That is all I could afford.')], { maxMoney: 6, priceOf })
    const { exitReason, answer, truncated } = await harness.say('Do it.')
    expect({ exitReason, answer, truncated }).toEqual({ exitReason: 'budget', answer: 'That is all I could afford.', truncated: true })
    expect(decisions(harness)).toBe(4)
  })

  it('is applied before a decision that would probably exceed it', async () => {
    const harness = createTestHarness([call, call, reply.answer('That is all.')], { maxMoney: 5, priceOf })
    expect((await harness.say('Do it.')).exitReason).toBe('budget')
    expect(decisions(harness)).toBe(3)
  })

  it('includes the price of the title', async () => {
    const title = { text: '<channel:thinking>x</channel:thinking><channel:output>{}</channel:output>', usage }
    const model = scriptedModel([title, call, reply.answer('That is all.')], { title: null })
    const harness = createHarness({ replies: [], model, tools: [weather()], settings: { maxMoney: 4, priceOf } })
    expect((await harness.say('Do it.')).exitReason).toBe('budget')
    expect(decisions(harness)).toBe(2)
  })

  it('applies to each turn separately', async () => {
    const harness = createTestHarness([call, reply.answer('One.'), call, reply.answer('Two.')], { maxMoney: 4, priceOf })
    expect((await harness.say('Do it.')).exitReason).toBe('complete')
    expect((await harness.say('Again.')).exitReason).toBe('complete')
  })

  it('ends the turn as failed and says why when a price is unknown', async () => {
    const harness = createTestHarness([call, { text: reply.call('weather.today', { city: 'Oslo' }), usage }], {
      maxMoney: 6,
      priceOf: () => undefined,
    })
    const { exitReason, ok, answer } = await harness.say('Do it.')
    expect([exitReason, ok]).toEqual(['unpriced', false])
    expect(answer).toMatch(/the price of the model is not known/)
    expect(harness.model.requests).toEqual([]) // no title is asked for, either
  })

  it('asks for no title when only the model of titles has no price, also in a resumed turn', async () => {
    const [gate, decision] = [scriptedModel([], { name: 'titles' }), scriptedModel([reply.answer('One.')])]
    const settings = { maxMoney: 6, priceOf: (_: unknown, model: string | undefined) => (model === 'titles' ? undefined : 1) }
    const { store, clock, workspaces } = createHarness({ replies: [] })
    const parts = { model: { decision, gate }, clock, workspaces, settings }
    const agent = createAgentFrom({ ...parts, store })
    expect(await agent.run('c1', 'Do it.').result).toMatchObject({ exitReason: 'unpriced', ok: false })
    const dying = createAgentFrom({ ...parts, store: failingStore(store, { append: 1, side: 'after' }) })
    await expect(dying.run('c2', 'Do it.').result).rejects.toThrow()
    clock.advance(LEASE_MS + 1)
    expect(await agent.recover()).toMatchObject({ results: [{ exitReason: 'unpriced' }] })
    expect([gate.requests, decision.requests]).toEqual([[], []])
  })

  it.each<[string, readonly Reply[], ScriptedReply, string, HarnessOptions['settings']]>([
    ['an answer', [], { text: reply.answer('It is clear.'), usage }, 'It is clear.', {}],
    ['a stop', [], { text: reply.answer('It is').replace('</channel:answer>', ''), stall: true }, 'It is', {}],
    ['the limit of rounds', [call], { text: reply.answer('So far.'), usage }, 'So far.', { maxRounds: 1 }],
  ])('ends the turn as unpriced when only the price of its last call is unknown, and keeps the answer: %s', async (...testCase) => {
    const [, before, last, answer, more] = testCase
    let isKnown = true
    const settings = { maxMoney: 6, priceOf: () => (isKnown ? 1 : undefined), ...more }
    const onChunk = () => {
      isKnown = false
    }
    const harness = createTestHarness([...before, { ...last, onChunk }], settings)
    const turn = await runTurnWith(harness, 'Do it.', { when: (event) => last.stall === true && answering(event), act: stopTurn })
    expect(turn).toMatchObject({ exitReason: 'unpriced', ok: false, answer })
    isKnown = true
    const replayed = await replay(harness.store, harness.conversationId, { tools: [weather()], settings })
    expect(replayed.map(({ divergence }) => divergence)).toEqual([undefined])
  })

  it('calls no model without a price, also in a later turn, which asks for no title', async () => {
    const settings = { maxMoney: 6, priceOf: (): number | undefined => known }
    let known: number | undefined = 1
    const harness = createTestHarness([reply.answer('One.'), reply.answer('Two.')], settings)
    expect((await harness.say('Do it.')).exitReason).toBe('complete')
    const before = harness.model.requests.length
    known = undefined
    expect(await harness.say('Again.')).toMatchObject({ exitReason: 'unpriced', ok: false })
    expect(harness.model.requests).toHaveLength(before)
    known = 1
    const replayed = await replay(harness.store, harness.conversationId, { tools: [weather()], settings })
    expect(replayed.map(({ rounds, divergence }) => [rounds, divergence])).toEqual([
      [1, undefined],
      [0, undefined],
    ])
  })

  it('needs prices when the agent is created', () => {
    expect(() => createTestHarness([], { maxMoney: 6 })).toThrow(/priceOf/)
  })

  it('includes an estimate for a call that was cut off', async () => {
    const broken = { text: '<channel:thinking>Let me think', error: { kind: 'connection', retryable: true } } as const
    const harness = createTestHarness([broken, reply.answer('That is all.')], { maxMoney: 0.1, priceOf })
    expect((await harness.say('Do it.')).exitReason).toBe('budget')
  })

  it('includes retried calls: their billed usage, else an estimate of what was received, else nothing', async () => {
    const again = { kind: 'unknown', retryable: true } as const
    const unseen = '<channel:thinking></channel:thinking><channel:action>{"action'
    const replies = [{ usage, error: again }, { text: unseen, error: again }, reply.answer('Here.')]
    const harness = createHarness({ replies, settings: { retryDelaysMs: [0, 0, 0], priceOf } })
    expect((await harness.say('Do it.')).exitReason).toBe('complete')
    const journal = await harness.journal()
    const response = journal.find((change) => change.type === 'response.received' && change.role === undefined)
    expect(response).toMatchObject({
      finish_reason: 'stop',
      retried: [
        { usage: { uncached: 1_000, output: 100 }, model: 'scripted' },
        { usage: { output: roughTokens(unseen) }, model: 'scripted', estimated: true },
      ],
    })
    const { calls: all, total } = costReport(
      journal.map((change, index) => ({ seq: index + 1, change })),
      { chargeOf: () => undefined, count: roughTokens },
    )
    const decided = all.filter(({ role }) => role === 'decision')
    expect(decided.map(({ estimated }) => estimated)).toEqual([false, true, false])
    expect(decided[0]?.usage).toMatchObject({ uncached: 1_000, output: 100 })
    expect(decided[1]?.usage.uncached).toBeGreaterThan(100)
    expect(total.tokens.uncached).toBe(all.reduce((sum, { usage: { uncached } }) => sum + uncached, 0))
    const free = createHarness({ replies: [{ error: again }, reply.answer('Here.')] })
    await free.say('Do it.')
    expect((await free.journal()).filter((change) => 'retried' in change)).toEqual([])
  })

  it('includes calls that failed and were retried', async () => {
    const failed = { usage, error: { kind: 'unknown', retryable: true } } as const
    const harness = createHarness({
      replies: [failed, failed, call, reply.answer('That is all.')],
      tools: [weather()],
      settings: { maxMoney: 5, priceOf, retryDelaysMs: [0, 0] },
    })
    expect((await harness.say('Do it.')).exitReason).toBe('budget')
    expect(decisions(harness)).toBe(4)
  })

  it('does not include a call that failed before it wrote anything', async () => {
    const down = { error: { kind: 'overloaded', retryable: true } } as const
    const harness = createTestHarness([down, reply.answer('Here.')], { maxMoney: 0.1, priceOf })
    expect((await harness.say('Do it.')).exitReason).toBe('complete')
  })

  it('includes what a resumed turn had spent before its process died', async () => {
    const first = createTestHarness([call, call, { text: '', stall: true }], { maxMoney: 6, priceOf })
    const turn = first.agent.run(first.conversationId, 'Do it.')
    let deciding = 0
    for await (const event of turn) if (event.type === 'status' && event.status === 'deciding' && ++deciding === 3) void first.agent.close()
    expect((await turn.result).exitReason).toBe('cancelled')
    const second = createHarness({
      replies: [call, reply.answer('That is all.')],
      tools: [weather()],
      store: first.store,
      clock: first.clock,
      settings: { maxMoney: 6, priceOf },
    })
    expect(await second.agent.recover()).toMatchObject({ results: [{ exitReason: 'budget', answer: 'That is all.' }] })
  })

  it('is restored from the entries of the turn only, however long the conversation is', async () => {
    const long = 40
    const harness = createTestHarness([...Array.from({ length: long }, () => reply.answer('Done.')), call, { text: '', stall: true }], {
      maxMoney: 6,
      priceOf,
    })
    for (let turn = 0; turn < long; turn++) await harness.say('Again.')
    const turn = harness.agent.run(harness.conversationId, 'Do it.')
    let deciding = 0
    for await (const event of turn)
      if (event.type === 'status' && event.status === 'deciding' && ++deciding === 2) void harness.agent.close()
    await turn.result
    const from: number[] = []
    const readJournal: typeof harness.store.readJournal = (id, range) => {
      from.push(range.after)
      return harness.store.readJournal(id, range)
    }
    const store = { ...harness.store, readJournal }
    const settings = { maxMoney: 6, priceOf }
    const second = createHarness({ replies: [reply.answer('That is all.')], tools: [weather()], store, clock: harness.clock, settings })
    expect((await second.agent.recover()).results).toHaveLength(1)
    expect(from.length).toBeGreaterThan(0)
    expect(Math.min(...from)).toBeGreaterThan(0)
  })
})
