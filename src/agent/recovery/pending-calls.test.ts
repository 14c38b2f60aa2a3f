import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { type Block, isResultMetadata } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import type { Change } from '../../core/timeline/change.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { type ConversationStore, LEASE_MS } from '../../ports/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool, type ToolDefinition } from '../../tools/define.ts'
import { failed, succeeded } from '../../tools/outcome.ts'
import type { Tool } from '../../tools/tool.ts'
import { createAgentFrom } from '../agent.ts'
import type { Agent } from '../agent-interface.ts'
import { replay } from '../replay/replay.ts'
import type { AgentSettings } from '../settings.ts'

const noParams = z.object({})
type Options = Partial<ToolDefinition<typeof noParams>>
const tool = (id: string, options: Options = {}): Tool =>
  defineTool({ id, description: 'Does something.', params: noParams, run: () => `${id} ran`, ...options })
/** A tool that never returns. The process dies while it runs. */
const hanging = (id: string, options: Options = {}) => tool(id, { run: () => new Promise(() => {}), ...options })

const isResult = (block: Block) => block.type === 'react.tool.result' && !isResultMetadata(block)
const hasCalls = (change: Change) => change.type === 'blocks.appended' && change.blocks.some(({ type }) => type === 'react.tool.call')

interface Crash {
  readonly calls: readonly string[]
  /** The tools of the process that dies, and those of the process that resumes the turn. */
  readonly tools: readonly Tool[]
  readonly later?: readonly Tool[]
  /** The process dies when the journal has this many outcomes (`call.finished`) and results. */
  readonly outcomes?: number
  readonly settings?: Partial<AgentSettings>
  /** What the user does before the process dies. */
  readonly during?: (agent: Agent) => Promise<unknown>
}

/** Runs a turn whose process dies while tools run, and resumes it. */
async function crash({ calls, tools, later = tools, outcomes = 0, settings = {}, during }: Crash) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const problems: string[] = []
  const createAgent = (over: ConversationStore, given: readonly Tool[], replies: readonly string[]) =>
    createAgentFrom({
      model: scriptedModel(replies),
      store: over,
      clock,
      tools: given,
      settings: { stopGraceMs: 0, ...settings },
      onProblem: ({ where }) => problems.push(where),
    })
  const journal = async () => {
    const changes: Change[] = []
    for await (const { change } of store.readJournal('c1', { after: 0 })) changes.push(change)
    return changes
  }
  const isOutcome = (change: Change) =>
    change.type === 'call.finished' || (change.type === 'blocks.appended' && change.blocks.some(isResult))

  let dead = false
  const alive = () => {
    if (dead) throw new Failure('store.failed', 'the process is dead')
  }
  const dying: ConversationStore = {
    ...store,
    append: async (claim, changes) => {
      alive()
      return store.append(claim, changes)
    },
    renew: async (claim) => {
      alive()
      return store.renew(claim)
    },
  }
  const first = createAgent(dying, tools, [reply.calls(calls.map((id) => [id] as const))])
  first.run('c1', 'Go.').result.catch(() => {})
  await expect.poll(async () => (await journal()).some(hasCalls)).toBe(true)
  await expect.poll(async () => (await journal()).filter(isOutcome).length).toBe(outcomes)
  await during?.(first)
  dead = true
  clock.advance(LEASE_MS + 1)
  const agent = createAgent(store, later, [reply.answer('Done.')])
  await agent.recover()
  const timeline = (await store.loadVisible('c1'))?.timeline
  return {
    results: (timeline ? blocksOf(timeline) : [])
      .filter(isResult)
      .map(({ text = '' }) => (text.startsWith('{') ? String(JSON.parse(text).error?.code ?? text) : text)),
    repeated: (await journal()).filter(({ type }) => type === 'call.repeated').length,
    closed: (await journal()).some(({ type }) => type === 'turn.closed'),
    problems,
    divergences: (await replay(store, 'c1', { tools: later, anySystem: true })).map(({ divergence }) => divergence),
  }
}

const settled = { closed: true, problems: [], divergences: [undefined] }

describe('calls that were running when the process died', () => {
  it('are each judged by themselves: finished ones are used, repeatable ones run again, others are unknown', async () => {
    const tools = [
      hanging('slow.pay', { parallel: true }),
      hanging('slow.look', { parallel: true, repeatable: true }),
      tool('fast.pay', { parallel: true }),
      tool('fast.fails', { parallel: true, run: () => failed('no_money', 'There is no money.') }),
    ]
    const forbidden = (id: string) => tool(id, { parallel: true, run: () => 'must not run again' })
    const later = [
      forbidden('slow.pay'),
      tool('slow.look', { parallel: true, repeatable: true }),
      forbidden('fast.pay'),
      forbidden('fast.fails'),
    ]
    const calls = ['slow.pay', 'slow.look', 'fast.pay', 'fast.fails']
    expect(await crash({ calls, tools, later, outcomes: 2 })).toEqual({
      ...settled,
      results: ['outcome_unknown', 'slow.look ran', 'fast.pay ran', 'no_money'],
      repeated: 1,
    })
  })

  it('had not started if an earlier call runs alone: then they run now', async () => {
    const tools = [tool('first.pay'), hanging('second.pay'), tool('third.pay'), tool('fourth.pay', { parallel: true })]
    const calls = ['first.pay', 'second.pay', 'third.pay', 'fourth.pay', 'fourth.pay']
    expect(
      await crash({ calls, tools, later: tools.map(({ id, parallel }) => tool(id, parallel ? { parallel } : {})), outcomes: 1 }),
    ).toEqual({
      ...settled,
      results: ['first.pay ran', 'outcome_unknown', 'third.pay ran', 'fourth.pay ran', 'fourth.pay ran'],
      repeated: 0,
    })
  })

  it('had not started, and do not run if their tool is gone', async () => {
    const later = [hanging('first.pay')]
    expect(await crash({ calls: ['first.pay', 'gone.pay'], tools: [hanging('first.pay'), tool('gone.pay')], later })).toMatchObject({
      closed: true,
      results: ['outcome_unknown', 'tool_cancelled'],
    })
  })

  it('keep the files and sources of outcomes that waited for an earlier call', async () => {
    const found = tool('fast.search', {
      parallel: true,
      run: () => succeeded({ output: 'See [[S:1]].', sources: [{ sid: 1, url: 'https://a.example/', title: 'A' }] }),
    })
    const slow = hanging('slow.look', { parallel: true, repeatable: true })
    const later = [
      found,
      tool('slow.look', {
        parallel: true,
        repeatable: true,
        run: () => succeeded({ output: 'Or [[S:1]].', sources: [{ sid: 1, url: 'https://b.example/', title: 'B' }] }),
      }),
    ]
    const { results } = await crash({ calls: ['slow.look', 'fast.search'], tools: [slow, found], later, outcomes: 1 })
    expect(results).toEqual(['Or [[S:1]].', 'See [[S:2]].'])
  })
})

describe('lookUp', () => {
  const calls = ['shop.pay']
  const tools = [hanging('shop.pay')]
  const asked = (lookUp: NonNullable<Options['lookUp']>, options: Options = {}) =>
    crash({ calls, tools, later: [tool('shop.pay', { lookUp, ...options })], settings: { lookUpTimeoutMs: 20 } })

  it('gives the outcome of a call that was done, and the tool does not run', async () => {
    const keys: string[] = []
    const outcome = await asked((key) => {
      keys.push(key)
      return { receipt: 7 }
    })
    expect(outcome).toEqual({ ...settled, results: ['{"receipt":7}'], repeated: 0 })
    expect(keys).toEqual([expect.stringMatching(/^c1\/turn_[^/]+\/[0-9a-f]{12}$/)])
    expect(await asked(() => failed('declined', 'The card was declined.'))).toEqual({ ...settled, results: ['declined'], repeated: 0 })
  })

  it('says that a call was not done, and then the tool runs', async () => {
    expect(await asked(async () => 'not-done')).toEqual({ ...settled, results: ['shop.pay ran'], repeated: 1 })
  })

  it('says that it does not know, and then only a repeatable tool runs again', async () => {
    expect(await asked(() => 'unknown')).toEqual({ ...settled, results: ['outcome_unknown'], repeated: 0 })
    expect(await asked(() => 'unknown', { repeatable: true })).toEqual({ ...settled, results: ['shop.pay ran'], repeated: 1 })
  })

  it('that throws or hangs means that the outcome is unknown', async () => {
    const throwing = await asked(() => {
      throw new Error('no connection')
    })
    expect(throwing).toEqual({ ...settled, results: ['outcome_unknown'], repeated: 0, problems: ['lookUp of shop.pay'] })
    let signal: AbortSignal | undefined
    const hanging = await asked((_key, _params, given) => {
      signal = given
      return new Promise(() => {})
    })
    expect(hanging).toEqual({ ...settled, results: ['outcome_unknown'], repeated: 0 })
    expect(signal?.aborted).toBe(true)
  })

  it('is asked although the user has steered, and a call that was not done is not started then', async () => {
    const during = (agent: Agent) => agent.steer('c1', 'Stop.')
    const settings = { stopGraceMs: 60_000 }
    for (const [answer, result] of [
      ['not-done', 'tool_cancelled'],
      ['done before', 'done before'],
    ] as const) {
      const { results, closed } = await crash({ calls, tools, later: [tool('shop.pay', { lookUp: () => answer })], during, settings })
      expect([results, closed]).toEqual([[result], true])
    }
  })

  it('is asked for each of several calls', async () => {
    const parallel = { parallel: true }
    const later = [
      tool('a.pay', { ...parallel, lookUp: () => 'not-done' }),
      tool('b.pay', { ...parallel, lookUp: () => 'paid before' }),
      tool('c.pay', parallel),
    ]
    const all = ['a.pay', 'b.pay', 'c.pay']
    expect(await crash({ calls: all, tools: all.map((id) => hanging(id, parallel)), later })).toEqual({
      ...settled,
      results: ['a.pay ran', 'paid before', 'outcome_unknown'],
      repeated: 1,
    })
  })
})
