import { describe, expect, it } from 'vitest'
import { divergenceText } from '../../src/agent/replay/divergence.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { ModelEvent, ModelUsage } from '../../src/core/model-event.ts'
import { createHarness, type HarnessOptions } from '../../src/testing/harness.ts'
import { reply, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../support/context-size.ts'
import { library, weather } from '../support/scenario-tools.ts'
import { run } from '../support/streaming.ts'

const valid: ModelUsage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0 }

const nonsense: readonly (readonly [what: string, usage: unknown])[] = [
  ['NaN', { ...valid, output: Number.NaN }],
  ['a negative count', { ...valid, uncached: -1 }],
  ['infinity', { ...valid, cacheRead: Number.POSITIVE_INFINITY }],
  ['a string', { ...valid, cacheWrite: '12' }],
  ['a missing field', { uncached: 10 }],
  ['an absurd count', { ...valid, output: 1e300 }],
  ['a long write larger than all writes', { ...valid, cacheWriteLong: 7 }],
  ['a list', [1, 2]],
  ['null', null],
  ['a text', 'ten tokens'],
  ['a big integer', { ...valid, output: 5n }],
]

/** A model that replaces each event of a scripted model by the events that `change` returns. */
const sending = (script: ScriptedModel, change: (event: ModelEvent, role: string) => readonly unknown[]): ScriptedModel => ({
  ...script,
  left: 0,
  async *stream(request, signal): AsyncGenerator<ModelEvent> {
    for await (const event of script.stream(request, signal)) yield* change(event, request.role) as readonly ModelEvent[]
  },
})

const withUsage = (script: ScriptedModel, usage: unknown, roles: readonly string[] = ['decision', 'gate', 'compaction']) =>
  sending(script, (event, role) => (event.type === 'finish' && roles.includes(role) ? [{ ...event, usage }] : [event]))

const priceOf = ({ uncached, cacheRead, cacheWrite, output }: ModelUsage) => uncached + cacheRead + cacheWrite + output

const createTestHarness = (model: ScriptedModel, options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies: [], model, tools: [weather()], ...options })

async function responses(harness: ReturnType<typeof createTestHarness>) {
  return (await harness.journal()).flatMap((change) => (change.type === 'response.received' ? [change] : []))
}

describe.each(nonsense)('an adapter that reports %s as usage', (_, usage) => {
  const call = reply.call('weather.today', { city: 'Rome' })

  it('loses the usage and not the answer, in every role', async () => {
    const harness = createTestHarness(withUsage(scriptedModel([call, reply.answer('Clear.')]), usage))
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Clear.' })
    const received = await responses(harness)
    expect(received.map(({ role, usage }) => [role, usage])).toEqual([
      ['gate', undefined],
      [undefined, undefined],
      [undefined, undefined],
    ])
    expect(received.every(({ prompt }) => (prompt?.estimated_tokens ?? 0) > 0)).toBe(true)
    expect((await harness.timeline()).title).toBe('A scripted conversation')
    const { cost } = await harness.agent.archive.usage(harness.conversationId)
    expect(cost.calls.map(({ estimated }) => estimated)).toEqual([true, true, true])
    expect(Object.values(cost.total.tokens).every(Number.isInteger)).toBe(true)
  })

  it('is estimated for the money limit', async () => {
    const settings = { maxMoney: 1, priceOf }
    const harness = createTestHarness(withUsage(scriptedModel([call, reply.answer('Stopped.')]), usage), { settings })
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'budget' })
  })

  it('loses nothing of an error event', async () => {
    const down = { error: { kind: 'overloaded', retryable: true }, usage: valid } as const
    const model = sending(scriptedModel([down, reply.answer('Here.')]), (event) => [event.type === 'error' ? { ...event, usage } : event])
    const harness = createTestHarness(model)
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Here.' })
    expect((await responses(harness)).at(-1)).not.toHaveProperty('retried')
  })

  it('loses nothing of a stream with channels', async () => {
    const { results, meta } = await run([], {
      stream: (async function* (): AsyncGenerator<ModelEvent> {
        yield { type: 'text.delta', text: '<channel:answer>Hi</channel:answer>' }
        yield { type: 'finish', finishReason: 'stop', modelName: 'm', usage: usage as ModelUsage }
      })(),
    })
    expect([results.get('answer')?.raw, meta.usage, meta.finishReason]).toEqual(['Hi', undefined, 'stop'])
  })
})

it('a summary with nonsense as usage is still used', async () => {
  const pages = [1, 2].map((page) => reply.call('library.fetch', { page }))
  const script = scriptedModel([...pages, reply.answer('Read.'), '## Goal\nThe houses.\n\n## Done\nRead.', reply.answer('Red.')])
  const settings = { contextTokens: contextWithRoom(3_900), keepRecentTurns: 1 }
  const harness = createTestHarness(withUsage(script, { uncached: Number.NaN }, ['compaction']), { tools: [library()], settings })
  await harness.say('Read one and two.')
  expect(await harness.say(`Which colour? ${'Tell me exactly. '.repeat(200)}`)).toMatchObject({ answer: 'Red.' })
  const summaries = (await responses(harness)).filter(({ role }) => role === 'compaction')
  expect(summaries.map(({ usage }) => usage)).toEqual([undefined])
  expect((await harness.journal()).filter(({ type }) => type === 'range.compacted')).toHaveLength(1)
})

it('a turn without usage replays without a divergence', async () => {
  const script = scriptedModel([reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')])
  const harness = createTestHarness(withUsage(script, undefined))
  await harness.say('Do it.')
  const [turn] = await replay(harness.store, harness.conversationId, { tools: [weather()] })
  expect(turn?.divergence && divergenceText(turn.divergence)).toBeUndefined()
})

describe('an adapter that sends an invalid event', () => {
  const answered = (change: (event: ModelEvent) => readonly unknown[]) =>
    createTestHarness(sending(scriptedModel([reply.answer('Clear.')]), (event) => change(event)))

  it.each([
    ['a model name that is no text', { modelName: 7 }],
    ['no model name', { modelName: undefined }],
    ['an unknown finish reason', { finishReason: 'end_turn' }],
    ['a finish reason that is no text', { finishReason: { unified: 'stop' } }],
    ['a message id that is no text', { providerMessageId: 5n }],
    ['unknown fields', { extra: 5n, self: () => {} }],
  ])('%s: the answer is kept', async (_, fields) => {
    const harness = answered((event) => [event.type === 'finish' ? { ...event, ...fields } : event])
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Clear.' })
    const last = (await responses(harness)).at(-1)
    expect([last?.prompt?.model, ['stop', 'other'].includes(last?.finish_reason ?? '')]).toEqual(['scripted', true])
  })

  it.each([
    ['null', null],
    ['nothing', undefined],
    ['a number', 5],
    ['an unknown type', { type: 'tool.call', id: 1 }],
    ['a text that is no text', { type: 'text.delta', text: { toString: () => 'x' } }],
    ['a reasoning that is no text', { type: 'reasoning.delta', text: 5 }],
  ])('%s between the pieces: the answer is kept', async (_, odd) => {
    const harness = answered((event) => [odd, event, ...(event.type === 'finish' ? [odd] : [])])
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Clear.' })
  })

  it.each([
    ['no error', undefined],
    ['an exception with a key', new Error('bad key sk-ant-REDACTED-0123456789abcdef')],
    ['an unknown kind', { kind: 'explosion', message: 'boom' }],
    ['a message that is no text', { kind: 'overloaded', message: { text: 'busy' } }],
    ['a big integer', { kind: 'overloaded', message: 'busy', http_status: 503n, code: 5, context: { at: 5n, host: 'a' } }],
    ['a pause that is no number', { kind: 'overloaded', message: 'busy', retryable: true, retry_after_seconds: 'soon' }],
    ['a negative pause', { kind: 'overloaded', message: 'busy', retryable: true, retry_after_seconds: -5 }],
  ])('an error event with %s ends the turn with a sentence', async (_, error) => {
    const harness = answered(() => [{ type: 'error', error }])
    const said = await harness.say('Do it.')
    expect([said.exitReason, said.answer.length > 20]).toEqual(['error', true])
    const last = (await responses(harness)).at(-1)
    expect(last?.error).toMatchObject({ kind: expect.stringMatching(/^(?:unknown|overloaded)$/), message: expect.any(String) })
    expect(JSON.stringify(await harness.journal())).not.toContain('REDACTED-0123456789abcdef')
  })

  it('an error event after the whole answer keeps the answer', async () => {
    const harness = answered((event) => [event.type === 'finish' ? { type: 'error', error: { kind: 5, message: null } } : event])
    expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Clear.' })
  })
})

it.each([Number.NaN, -1, '5', Number.POSITIVE_INFINITY, null])('a price of %s counts as unknown', async (price) => {
  const script = scriptedModel([reply.call('weather.today', { city: 'Rome' }), reply.answer('never asked for')])
  const harness = createTestHarness(script, { settings: { maxMoney: 100, priceOf: () => price as number } })
  const said = await harness.say('Do it.')
  // the call for the title has no known price, so the model is not called again
  expect([said.exitReason, script.left]).toEqual(['unpriced', 2])
})

it.each([
  ['NaN', () => Number.NaN],
  ['a negative number', () => -5],
  ['infinity', () => Number.POSITIVE_INFINITY],
  ['a text', () => '7' as unknown as number],
  [
    'an error',
    () => {
      throw new Error('no such encoding')
    },
  ],
])('a token counter that gives %s costs no answer, and is reported once', async (_, tokens) => {
  const problems: string[] = []
  const script = scriptedModel([reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')])
  const harness = createTestHarness(script, { tokens, onProblem: ({ where }) => problems.push(where) })
  expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Clear.' })
  const closed = (await harness.journal()).find(({ type }) => type === 'turn.closed')
  expect([closed, problems]).toMatchObject([{ tokens: expect.any(Number) }, ['tokens']])
})

describe('an adapter that does not end its stream after its finish event', () => {
  async function* withoutEnd(events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent> {
    yield* events
    await new Promise<never>(() => {})
  }

  it('does not hold up a turn, its title or its summary', async () => {
    const pages = [1, 2].map((page) => reply.call('library.fetch', { page }))
    const script = scriptedModel([...pages, reply.answer('Read.'), reply.answer('A summary of it.'), reply.answer('Blue.')])
    const model: ScriptedModel = { ...script, left: 0, stream: (request, signal) => withoutEnd(script.stream(request, signal)) }
    const harness = createTestHarness(model, {
      tools: [library()],
      settings: { contextTokens: contextWithRoom(3_900), keepRecentTurns: 1 },
    })
    expect(await harness.say('Read one and two.')).toMatchObject({ exitReason: 'complete', answer: 'Read.' })
    expect((await harness.timeline()).title).toBe('A scripted conversation')
    await harness.say(`Which colour? ${'Tell me exactly. '.repeat(200)}`)
    expect(script.requests.map(({ role }) => role)).toContain('compaction')
  })

  it('does not hold up a stream with channels', async () => {
    const events = scriptedModel(['<channel:answer>Hi</channel:answer>']).stream(
      { role: 'decision' } as never,
      new AbortController().signal,
    )
    const { results, meta } = await run([], { stream: withoutEnd(events) })
    expect([results.get('answer')?.raw, meta.finishReason]).toEqual(['Hi', 'stop'])
  })
})
