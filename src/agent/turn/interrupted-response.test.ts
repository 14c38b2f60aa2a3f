import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { answered, blockTypes, codesOf, runTurnWith, steerWith, stopTurn } from '../../../test/support/watch-turn.ts'
import type { FinishReason, ModelEvent } from '../../core/model-event.ts'
import type { Model } from '../../ports/model.ts'
import { type ConversationStore, LEASE_MS } from '../../ports/store.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { type Reply, reply, type ScriptedModel, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'

const rome = reply.answer('It is clear in Rome.')
const firstTag = '<channel:thinking>'
/** Every position at which the first tag can be cut, and a few positions after the tag. */
const cuts = Array.from({ length: firstTag.length + 4 }, (_, index) => index + 1)

/** A reply whose second piece begins after `length` characters. `act` is called before the second piece. */
const cutReply = (length: number, act: () => unknown): Reply => ({
  text: rome,
  chunks: [rome.slice(0, length), rome.slice(length)],
  onChunk: (index) => (index === 1 ? act() : undefined),
})

const decisionsIn = async (harness: Harness) =>
  (await harness.journal()).flatMap((change) => (change.type === 'response.received' && !change.role ? [change.finish_reason] : []))

describe('a response that is cut', () => {
  it.each(cuts)('by a steer after %i characters is interrupted, and breaks no rule', async (length) => {
    const harness = createHarness({
      replies: [cutReply(length, () => steerWith('In Paris, please.')(harness)), reply.answer('It is grey in Paris.')],
    })
    expect(await harness.say('How is the weather?')).toMatchObject({ answer: 'It is grey in Paris.', exitReason: 'complete' })
    expect(await codesOf(harness)).toEqual([])
    expect(await decisionsIn(harness)).toEqual(['interrupted', 'stop'])
    expect(await blockTypes(harness)).toContain('react.decision.raw')
  })

  it.each(cuts)('by the end of the agent after %i characters leaves nothing that the next process shows to the model', async (length) => {
    const harness = createHarness({ replies: [cutReply(length, () => void harness.agent.close())] })
    expect(await harness.say('How is the weather?')).toMatchObject({ exitReason: 'cancelled' })
    expect(await decisionsIn(harness)).toEqual([])
    const { next, results } = await recoverWith(harness, [rome])
    expect(results).toMatchObject([{ answer: 'It is clear in Rome.' }])
    expect(await codesOf(next)).toEqual([])
    expect(JSON.stringify(next.model.requests)).not.toContain('protocol_violation.')
  })

  it.each(cuts.slice(0, -4))('by the provider after %i characters is a broken connection, not a broken rule', async (length) => {
    const broken: Reply = { text: rome.slice(0, length), error: { kind: 'connection', retryable: false } }
    const harness = createHarness({ replies: [broken, rome] })
    expect((await harness.say('How is the weather?')).answer).toBe('It is clear in Rome.')
    expect(await codesOf(harness)).toEqual(['service_interrupted'])
  })
})

/** The events of an adapter that, after an abort, ends its stream with an ordinary `finish` event. */
async function* politeEvents(text: string, finishReason: FinishReason, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  yield { type: 'text.delta', text }
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  yield { type: 'finish', finishReason, modelName: 'polite' }
}

describe.each(['stop', 'other', 'error'] as const)('a response that an adapter ends with "%s" after the abort', (finishReason) => {
  const places = [
    ['in the first tag', firstTag.slice(0, 9)],
    ['in the action', reply.call('shop.pay', { amount: 12 }).slice(0, -40)],
    ['before the answer', rome.slice(0, rome.indexOf('<channel:answer>'))],
  ] as const

  it.each(places.flatMap(([place, text]) => (['steer', 'close', 'time'] as const).map((how) => ({ place, text, how }))))(
    'breaks no rule when it is cut $place ($how)',
    async ({ text, how }) => {
      const inner = scriptedModel([rome])
      const started = Promise.withResolvers<void>()
      let calls = 0
      const stream: Model['stream'] = (request, signal) => {
        if (request.role !== 'decision' || calls++ > 0) return inner.stream(request, signal)
        started.resolve()
        return politeEvents(text, finishReason, signal)
      }
      const settings = { stopGraceMs: 10_000, ...(how === 'time' && { maxSeconds: 0.05 }) }
      const harness = createHarness({ replies: [], model: { ...inner, left: 0, stream }, settings })
      const turn = harness.agent.run('c1', 'How is the weather?')
      await started.promise
      if (how === 'steer') await harness.agent.steer('c1', 'In Rome, please.')
      if (how === 'close') await harness.agent.close()
      const result = await turn.result
      const { answer } = how === 'close' ? ((await recoverWith(harness, [rome])).results[0] ?? {}) : result
      expect(answer).toBe('It is clear in Rome.')
      expect(await codesOf(harness)).toEqual([])
      expect(await decisionsIn(harness)).toEqual(how === 'close' ? ['stop'] : ['interrupted', 'stop'])
    },
  )
})

it('a whole response that comes after the abort counts', async () => {
  const inner = scriptedModel([])
  const stream: Model['stream'] = (request, signal) =>
    request.role === 'decision' ? politeEvents(rome, 'stop', signal) : inner.stream(request, signal)
  const settings = { stopGraceMs: 10_000, maxSeconds: 0.05 }
  const harness = createHarness({ replies: [], model: { ...inner, left: 0, stream }, settings })
  expect(await harness.say('How is the weather?')).toMatchObject({ answer: 'It is clear in Rome.', exitReason: 'complete' })
})

/** Waits for `count` microtasks. */
async function microtasks(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await Promise.resolve()
}

/** A model that waits for some microtasks before each event. */
function slowModel(inner: ScriptedModel, ticks: number): ScriptedModel {
  const model: Model = {
    ...inner,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      for await (const event of inner.stream(request, signal)) {
        await microtasks(ticks)
        yield event
      }
    },
  }
  return { ...model, requests: inner.requests, left: 0 }
}
const slowStore = (inner: ConversationStore, ticks: number): ConversationStore => ({
  ...inner,
  async append(claim, changes) {
    const entries = await inner.append(claim, changes)
    await microtasks(ticks)
    return entries
  },
})

describe('a stop in the last moments of an answer', () => {
  const ticks = [0, 1, 2, 3, 5, 8, 13, 40]
  it.each(ticks.flatMap((model) => ticks.map((store) => ({ model, store }))))(
    'changes nothing: the model takes $model microtasks more, the store $store',
    async ({ model, store }) => {
      const harness = createHarness({
        replies: [],
        model: slowModel(scriptedModel([rome]), model),
        store: slowStore(createHarness({ replies: [] }).store, store),
        settings: { exitGraceMs: 60_000 },
      })
      const { exitReason, answer } = await runTurnWith(harness, 'How warm is it?', { when: answered, act: stopTurn })
      expect([exitReason, answer]).toEqual(['complete', 'It is clear in Rome.'])
      expect(await decisionsIn(harness)).toEqual(['stop'])
    },
  )
})

/** A model that closes the agent when its response is complete, just before its stream ends. */
const closingModel = (text: string, close: () => void): ScriptedModel => {
  const inner = scriptedModel([text])
  const model: Model = {
    ...inner,
    async *stream(request, signal) {
      yield* inner.stream(request, signal)
      if (request.role === 'decision') close()
    },
  }
  return { ...model, requests: inner.requests, left: 0 }
}

async function recoverWith(
  { store, clock, workspaces }: Harness,
  replies: readonly Reply[],
  tools: Parameters<typeof createHarness>[0]['tools'] = [],
) {
  clock.advance(LEASE_MS + 1)
  const next = createHarness({ replies, store, clock, workspaces, tools })
  const { results } = await next.agent.recover()
  return { next, results }
}

describe('an agent that is closed when a response is complete', () => {
  it('enters the response and nothing else; the next process acts on it, and a tool runs once', async () => {
    let runs = 0
    const pay = defineTool({ id: 'shop.pay', description: 'Pays.', params: z.object({}), run: () => ({ paid: ++runs }) })
    const model = closingModel(reply.call('shop.pay', {}), () => void harness.agent.close())
    const harness: Harness = createHarness({ replies: [], model, tools: [pay] })
    expect(await harness.say('Pay.')).toMatchObject({ exitReason: 'cancelled' })
    expect((await harness.journal()).at(-1)).toMatchObject({ type: 'response.received', finish_reason: 'stop', iteration: 0 })
    expect(runs).toBe(0)
    const { next, results } = await recoverWith(harness, [reply.answer('Paid.')], [pay])
    expect(results).toMatchObject([{ answer: 'Paid.', exitReason: 'complete' }])
    expect([runs, next.model.requests.length]).toEqual([1, 1])
    expect(await codesOf(next)).toEqual([])
  })

  it('enters a complete title, too', async () => {
    const inner = scriptedModel([])
    const model: ScriptedModel = {
      ...inner,
      async *stream(request, signal) {
        yield* inner.stream(request, signal)
        if (request.role === 'gate') void harness.agent.close()
      },
    }
    const harness: Harness = createHarness({ replies: [], model })
    expect(await harness.say('Hello.')).toMatchObject({ exitReason: 'cancelled' })
    const { next, results } = await recoverWith(harness, [rome])
    expect(results).toMatchObject([{ answer: 'It is clear in Rome.' }])
    expect(next.model.requests.map(({ role }) => role)).toEqual(['decision'])
    expect((await next.timeline()).title).toBe('A scripted conversation')
  })
})
