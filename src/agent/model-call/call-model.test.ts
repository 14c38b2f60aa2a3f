import { describe, expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import { codesOf, decisions, deltasOf, laneText } from '../../../test/support/watch-turn.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import type { Model } from '../../ports/model.ts'
import { createHarness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply, type ScriptedModel, scriptedModel } from '../../testing/scripted-model.ts'

const down = { error: { kind: 'overloaded', http_status: 503, retryable: true } } as const
const tooLong = {
  error: { kind: 'invalid_request', http_status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum' },
} as const

const createTestHarness = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies, tools: [weather()], ...options })

describe('a provider that fails', () => {
  it('loop 17.76: is called again, twice, if nothing was shown, and live output carries the attempt', async () => {
    const harness = createTestHarness([down, down, reply.answer('Here.')])
    const { events, answer, exitReason } = await harness.say('Do it.')
    expect({ answer, exitReason, calls: decisions(harness) }).toEqual({ answer: 'Here.', exitReason: 'complete', calls: 3 })
    expect(new Set(deltasOf(events).map(({ attempt }) => attempt))).toEqual(new Set([2]))
    expect(events.filter((event) => event.type === 'status' && event.status === 'retrying')).toHaveLength(2)
    expect(await codesOf(harness)).toEqual([])
    // one for the title and one for the answer
    expect((await harness.journal()).filter(({ type }) => type === 'response.received')).toHaveLength(2)
  })

  it('loop 17.76: is not called again silently after something was shown: the model gets a notice and a new round', async () => {
    const text = '<channel:thinking>Let me think about'
    const harness = createTestHarness([{ text, ...down }, reply.answer('Here.')])
    const { events, answer } = await harness.say('Do it.')
    expect(answer).toBe('Here.')
    expect(await codesOf(harness)).toEqual(['service_interrupted'])
    expect(deltasOf(events).every(({ attempt }) => attempt === 0)).toBe(true)
    expect(deltasOf(events, 'thinking').filter(({ delta }) => delta.aborted)).toHaveLength(1)
    expect(new Set(deltasOf(events).map(({ iteration }) => iteration))).toEqual(new Set([0, 1]))
    const [, interrupted] = (await harness.journal()).filter(({ type }) => type === 'response.received')
    expect(interrupted).toMatchObject({ raw: text, finish_reason: 'error' })
  })

  it('is called again after tags that showed nothing', async () => {
    const harness = createTestHarness([{ text: '<channel:thin', ...down }, reply.answer('Here.')])
    expect((await harness.say('Do it.')).answer).toBe('Here.')
    expect(await codesOf(harness)).toEqual([])
  })

  it('is not called again for an error that is not retryable', async () => {
    const harness = createTestHarness([
      { error: { kind: 'invalid_request', http_status: 400, message: 'no such model' } },
      reply.answer('never asked for'),
    ])
    expect((await harness.say('Do it.')).exitReason).toBe('error')
    expect(harness.model.left).toBe(1)
  })

  it('is not called again before the pause it asks for, and not at all when that is too long', async () => {
    const limited = (retry_after_seconds: number) => ({ error: { kind: 'rate_limited', retryable: true, retry_after_seconds } }) as const
    const patient = createTestHarness([limited(59), reply.answer('never asked for')])
    const turn = patient.agent.run(patient.conversationId, 'Do it.')
    for await (const event of turn) if (event.type === 'status' && event.status === 'retrying') await patient.agent.stop('c1')
    expect(await turn.result).toMatchObject({ exitReason: 'steer' })
    expect(patient.model.left).toBe(1) // `retryDelaysMs` is 0 in this test, so only the pause that the provider asked for delays the retry
    const hopeless = createTestHarness([limited(7_200), reply.answer('never asked for')]) // longer than `providerWaitSeconds`
    expect((await hopeless.say('Do it.')).answer).toMatch(/takes no more requests from us for now/)
    expect(hopeless.model.left).toBe(1)
  })

  it('can be stopped during the pause before a retry', async () => {
    const harness = createTestHarness([down, reply.answer('never asked for')], { settings: { retryDelaysMs: [60_000] } })
    const turn = harness.agent.run(harness.conversationId, 'Do it.')
    for await (const event of turn)
      if (event.type === 'status' && event.status === 'retrying') await harness.agent.stop(harness.conversationId)
    expect(await turn.result).toMatchObject({ exitReason: 'steer', answer: 'I stopped as you asked. What was done so far is kept.' })
    expect(harness.model.left).toBe(1)
  })
})

describe('an adapter that breaks its contract', () => {
  const served = (stream: Model['stream']): ScriptedModel => {
    const gate = scriptedModel([])
    return { ...gate, left: 0, stream: (request, signal) => (request.role === 'gate' ? gate : { stream }).stream(request, signal) }
  }
  const secret = new Error('no route for sk-123 from /home/me')

  it('by throwing is treated as a failed provider: the text is kept, and only the caller gets the error', async () => {
    const text = '<channel:thinking>Let me think about'
    const model = served(async function* () {
      yield { type: 'text.delta', text }
      throw secret
    })
    const harness = createTestHarness([], { model })
    const { exitReason, error } = await harness.say('Do it.')
    expect({ exitReason, error }).toEqual({ exitReason: 'error', error: secret })
    expect(await codesOf(harness)).toEqual(['service_interrupted', 'service_interrupted', 'service_interrupted', 'service_error'])
    const journal = await harness.journal()
    expect(journal.filter((change) => change.type === 'response.received' && change.raw === text)).toHaveLength(3)
    expect(JSON.stringify(journal)).not.toContain('sk-123')
  })

  it('by throwing before any output ends the turn with an error', async () => {
    const model = served(() => {
      throw secret
    })
    const harness = createTestHarness([], { model })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'error', error: secret })
    expect(await codesOf(harness)).toEqual(['service_error'])
  })

  it('by throwing in the wrap-up call is reported to onProblem only, and the user reads about the limit', async () => {
    const problems: unknown[] = []
    let calls = 0
    const model = served(async function* () {
      if (++calls > 1) throw secret
      yield { type: 'text.delta', text: 'nonsense' }
    })
    const harness = createTestHarness([], {
      model,
      settings: { maxRounds: 1 },
      onProblem: ({ where, error }) => problems.push([where, error]),
    })
    expect(await harness.say('Do it.')).toMatchObject({
      exitReason: 'max_iterations',
      answer: expect.stringMatching(/^I reached the step limit/),
    })
    expect(problems).toEqual([['model', secret]])
    expect((await codesOf(harness)).at(-1)).toBe('service_error')
    expect(JSON.stringify(await harness.journal())).not.toContain('sk-123')
  })

  it('by not stopping is abandoned after the grace period, and later output is ignored', async () => {
    const late = Promise.withResolvers<void>()
    const model = served(async function* () {
      yield { type: 'text.delta', text: '<channel:thinking>Let me think' }
      harness.agent.stop(harness.conversationId)
      await late.promise
      yield { type: 'text.delta', text: ' too late' }
    })
    const harness = createTestHarness([], { model, settings: { stopGraceMs: 10 } })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'steer' })
    late.resolve()
    await harness.agent.close()
    expect(JSON.stringify(await harness.journal())).not.toContain('too late')
  })

  it('by not stopping is abandoned during the title call, too', async () => {
    const model = { ...scriptedModel([]), left: 0, stream: () => neverStops(() => harness.agent.stop(harness.conversationId)) }
    const harness = createTestHarness([], { model, settings: { stopGraceMs: 10 } })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'steer' })
  })
})

async function* neverStops(once: () => void): AsyncGenerator<ModelEvent> {
  once()
  await new Promise<never>(() => {})
}

describe('a prompt that the provider rejects as too long', () => {
  const summary = '## Goal\nThe weather.\n\n## Done\nRome was looked up.'
  const history = [reply.call('weather.today', { city: 'Rome' }), reply.answer(`Clear. ${'It is a fine day. '.repeat(200)}`)]

  async function withHistory(replies: readonly Reply[]) {
    const harness = createTestHarness([...history, ...history, ...replies])
    await harness.say(`First. ${'Tell me everything. '.repeat(100)}`)
    await harness.say(`Second. ${'Tell me everything. '.repeat(100)}`)
    return harness
  }

  it('is compacted and sent again', async () => {
    const harness = await withHistory([tooLong, summary, reply.answer('Third.')])
    const { answer, events } = await harness.say('And now?')
    expect(answer).toBe('Third.')
    expect((await harness.journal()).filter(({ type }) => type === 'range.compacted')).toHaveLength(1)
    expect(events.filter((event) => event.type === 'status').map(({ status }) => status)).toEqual(['deciding', 'compacting', 'deciding'])
    expect(new Set(deltasOf(events).map(({ attempt }) => attempt))).toEqual(new Set([1]))
  })

  it('is compacted at most three times; then the user is told why', async () => {
    const harness = await withHistory([tooLong, summary, tooLong, summary, tooLong, summary, tooLong, tooLong, tooLong])
    const { exitReason, answer, events } = await harness.say('And now?')
    expect(exitReason).toBe('error')
    expect(answer).toMatch(/no longer fits/)
    expect(laneText(events, 'answer')).toBe(answer)
    expect(decisions(harness) - 4).toBeLessThanOrEqual(4)
  })

  it('is compacted without a summary when that call fails, too', async () => {
    const harness = await withHistory([tooLong, down, reply.answer('Third.')])
    expect((await harness.say('And now?')).answer).toBe('Third.')
    expect((await harness.journal()).filter(({ type }) => type === 'range.compacted')).toHaveLength(1)
  })
})
