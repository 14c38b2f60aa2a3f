import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { divergenceText } from '../../src/agent/replay/divergence.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import { parseJson } from '../../src/core/json.ts'
import type { ModelEvent } from '../../src/core/model-event.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../src/testing/harness.ts'
import { type Reply, reply, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../support/context-size.ts'
import { library, slowTool, weather } from '../support/scenario-tools.ts'

/** Short limits, so that the tests are fast. The clock of the harness does not advance, so only a timer ends the turn. */
const short = { maxSeconds: 0.1, stopGraceMs: 20 }

const createTestHarness = (replies: readonly Reply[], { settings, ...options }: Partial<HarnessOptions> = {}) =>
  createHarness({ replies, tools: [slowTool()], settings: { ...short, ...settings }, ...options })

type Stream = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>

/**
 * A model whose first calls use `streams` and whose later calls use `replies`. With `titles: 'scripted'`, calls for a title use neither.
 */
function modelWith(streams: readonly Stream[], replies: readonly Reply[], titles: 'scripted' | 'streams' = 'scripted'): ScriptedModel {
  const scripted = scriptedModel(replies)
  let next = 0
  const stream: Stream = (request, signal) => {
    const own = request.role === 'gate' && titles === 'scripted' ? undefined : streams[next++]
    return own ? own(request, signal) : scripted.stream(request, signal)
  }
  return { ...scripted, left: 0, stream }
}

/** A model call that never answers and ignores its signal. */
async function* deaf(): AsyncGenerator<ModelEvent> {
  await new Promise<never>(() => {})
}

const liveClock = () => ({ ...createFixedClock(), now: () => new Date().toISOString() })

async function resultsOf(harness: Harness): Promise<readonly unknown[]> {
  const blocks = (await harness.journal()).flatMap(blocksOfChange)
  return blocks.filter(({ type }) => type === 'react.tool.result').map(({ text }) => parseJson(text))
}

const decisionsIn = async (harness: Harness) =>
  (await harness.journal()).flatMap((change) =>
    change.type === 'response.received' && change.role === undefined ? [change.finish_reason] : [],
  )

describe('the time limit of a turn', () => {
  it('interrupts a model that is silent, and the turn wraps up', async () => {
    const harness = createTestHarness([{ text: '<channel:thinking>Let me see', stall: true }, reply.answer('As far as I got.')])
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time', answer: 'As far as I got.', ok: true, truncated: true })
    expect(await decisionsIn(harness)).toEqual(['interrupted', 'stop'])
  })

  it('abandons a model that does not stop', async () => {
    const harness = createTestHarness([], { model: modelWith([deaf], [reply.answer('As far as I got.')]) })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time', answer: 'As far as I got.' })
  })

  it('counts a response that the model ends within the grace', async () => {
    const late: Stream = async function* () {
      await sleep(150)
      yield { type: 'text.delta', text: reply.answer('Just in time.') }
      yield { type: 'finish', finishReason: 'stop', modelName: 'late' }
    }
    const harness = createTestHarness([], { model: modelWith([late], []), settings: { stopGraceMs: 10_000 } })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Just in time.' })
  })

  it('does not start a tool that was called within the grace', async () => {
    let started = 0
    const late: Stream = async function* () {
      await sleep(150)
      yield { type: 'text.delta', text: reply.call('slow.work') }
      yield { type: 'finish', finishReason: 'stop', modelName: 'late' }
    }
    const model = modelWith([late], [reply.answer('As far as I got.')])
    const harness = createTestHarness([], { model, tools: [slowTool({ started: () => started++ })], settings: { stopGraceMs: 10_000 } })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time' })
    expect(await resultsOf(harness)).toMatchObject([{ ok: false, error: { code: 'tool_cancelled' } }])
    expect([started, JSON.stringify(await resultsOf(harness))]).toEqual([0, expect.stringMatching(/time limit.*no effect/)])
  })

  it.each([
    ['stops when it is asked to', slowTool()],
    ['never returns', slowTool({ ignoresSignal: true })],
  ])('interrupts a tool that %s, and its result says so', async (_, tool) => {
    const harness = createTestHarness([reply.call('slow.work'), reply.answer('Without it.')], { tools: [tool] })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time', answer: 'Without it.' })
    expect(await resultsOf(harness)).toMatchObject([
      { ok: false, error: { code: 'tool_timeout', message: expect.stringMatching(/turn.*time limit/) } },
    ])
    expect(JSON.stringify(harness.model.requests.at(-1)?.parts)).toContain('whether the call had any effect is not known')
  })

  it('counts a result within the grace', async () => {
    const tool = slowTool({ ignoresSignal: true, endsAfterMs: 150 })
    const harness = createTestHarness([reply.call('slow.work'), reply.answer('With it.')], {
      tools: [tool],
      settings: { stopGraceMs: 10_000 },
    })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time', answer: 'With it.' })
    expect(JSON.stringify(harness.model.requests.at(-1)?.parts)).toContain('too late') // the tool returned this text
  })

  it('ends the wrap-up, too: then the answer is a fixed text', async () => {
    const model = modelWith([deaf, deaf], [reply.answer('never asked for')])
    const harness = createTestHarness([], { model, settings: { wrapUpSeconds: 0.05 } })
    const said = await harness.say('Do it.')
    expect(said).toMatchObject({ exitReason: 'time', answer: expect.stringMatching(/^I reached the time limit of this turn/) })
    expect(await decisionsIn(harness)).toEqual(['interrupted', 'interrupted'])
  })

  it('ends a wrap-up at the limit of rounds', async () => {
    const stalls = { text: '', stall: true } as const
    const settings = { maxRounds: 1, maxSeconds: 0.2, wrapUpSeconds: 0.05 }
    const harness = createTestHarness([reply.call('weather.today', { city: 'Rome' }), stalls], { tools: [weather()], settings })
    expect(await harness.say('Do it.')).toMatchObject({
      exitReason: 'max_iterations',
      answer: expect.stringMatching(/^I reached the step limit/),
    })
  })

  it('ends the pause before a retry', async () => {
    const down = { error: { kind: 'overloaded', retryable: true } } as const
    const harness = createTestHarness([down, reply.answer('As far as I got.')], { settings: { retryDelaysMs: [60_000] } })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time', answer: 'As far as I got.' })
  })

  it('ends the wait for a title whose model is silent', async () => {
    const model = modelWith([deaf], [reply.answer('Done.')], 'streams')
    const harness = createTestHarness([], { model, settings: { titleWaitMs: 600_000 } })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Done.' })
  })

  it('ends a summary that is silent', async () => {
    const pages = [1, 2].map((page) => reply.call('library.fetch', { page }))
    const script = scriptedModel([...pages, reply.answer('Read.'), reply.answer('never asked for')])
    const stream: Stream = (request, signal) => (request.role === 'compaction' ? deaf() : script.stream(request, signal))
    const settings = { contextTokens: contextWithRoom(3_900), keepRecentTurns: 1, maxSeconds: 0.5, wrapUpSeconds: 0.1 }
    const harness = createTestHarness([], { model: { ...script, left: 0, stream }, tools: [library()], settings })
    await harness.say('Read one and two.')
    const said = await harness.say(`Which colour? ${'Tell me exactly. '.repeat(200)}`)
    expect(said).toMatchObject({ exitReason: 'time', answer: expect.stringMatching(/^I reached the time limit/) })
    const summaries = (await harness.journal()).flatMap((change) =>
      change.type === 'response.received' && change.role === 'compaction' ? [change.finish_reason] : [],
    )
    expect(summaries).toEqual(['interrupted', 'interrupted']) // one before the first decision, one in the wrap-up
  })

  it('may be longer than the longest timer', async () => {
    const harness = createTestHarness([reply.answer('Done.')], { settings: { maxSeconds: 10_000_000 } })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete' })
  })

  it('is not carried over to the next turn', async () => {
    const harness = createTestHarness([{ text: '', stall: true }, reply.answer('As far as I got.'), reply.answer('In time.')])
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time' })
    expect(await harness.say('And now?')).toMatchObject({ exitReason: 'complete', answer: 'In time.' })
  })

  it('counts from the start of a turn that is resumed: a repeatable tool is not run again when the time is over', async () => {
    let runs = 0
    const tool = { ...slowTool({ started: () => runs++ }), repeatable: true }
    const first = createTestHarness([reply.call('slow.work')], { tools: [tool], settings: { maxSeconds: 60 } })
    const crashed = first.agent.run(first.conversationId, 'Do it.')
    for await (const event of crashed) if (event.type === 'status' && event.status === 'tool.started') void first.agent.close()
    first.clock.advance(61_000)
    const second = createTestHarness([reply.answer('Unfinished.')], {
      store: first.store,
      clock: first.clock,
      tools: [tool],
      settings: { maxSeconds: 60 },
    })
    expect(await second.agent.recover()).toMatchObject({ results: [{ exitReason: 'time', answer: 'Unfinished.' }] })
    expect([runs, await resultsOf(second)]).toEqual([
      1,
      [expect.objectContaining({ error: expect.objectContaining({ code: 'outcome_unknown' }) })],
    ])
  })

  it.each([
    ['a silent model', [{ text: '<channel:thinking>Let me see', stall: true }, reply.answer('As far as I got.')]],
    [
      'a silent wrap-up',
      [
        { text: '', stall: true },
        { text: '<channel:thinking>Well', stall: true },
      ],
    ],
    ['a tool that never returns', [reply.call('slow.work'), reply.answer('Without it.')]],
  ] as const)('that ended %s replays without a divergence', async (_, replies) => {
    const settings = { ...short, wrapUpSeconds: 0.05 }
    const harness = createTestHarness(replies, { clock: liveClock(), settings })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'time' })
    const replayed = await replay(harness.store, harness.conversationId, { tools: [slowTool()], settings })
    expect(replayed.flatMap(({ divergence }) => (divergence ? [divergenceText(divergence)] : []))).toEqual([])
    expect(replayed.map(({ rounds }) => rounds)).toEqual([2])
  })
})
