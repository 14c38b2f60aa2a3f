import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cutAt, cuts, everySegmentation, hostileText } from '../../../test/support/generators/text-cuts.ts'
import { channels, deltasOfChannel, finish, modelEvents, run, texts, usage } from '../../../test/support/streaming.ts'
import type { ModelEvent, ServiceError } from '../../core/model-event.ts'
import { type ChannelSpec, type Delta, StreamPolicyViolation, type StreamWithChannelsOptions, type Subscriber } from './types.ts'

const shape = ({ index, text, completed }: Delta) => (completed ? [index, text, 'completed'] : [index, text])

/** Everything that must be the same, however the provider splits its stream into pieces. */
async function outcome(pieces: readonly string[]) {
  const { deltas, results, meta } = await run(pieces)
  const perChannel = channels.map(({ name }) => {
    const own = deltasOfChannel(deltas, name)
    expect(own.map(({ index }) => index)).toEqual(own.map((_, index) => index))
    expect(own.filter(({ completed }) => completed)).toHaveLength(results.get(name)?.instances.length as number)
    expect(own.map(({ raw }) => raw).join('')).toBe(results.get(name)?.raw)
    return { name, emitted: texts(own), result: results.get(name) }
  })
  return { perChannel, meta }
}

describe('deltas', () => {
  it('loop 17.1: a citation that is split between chunks is emitted whole', async () => {
    const { deltas, results } = await run(['<channel:answer>Hi [[S:', '1]] ok</channel:answer>'])
    expect(deltas.map(shape)).toEqual([
      [0, 'Hi '],
      [1, '[Alpha](https://a.example/1) ok'],
      [2, '', 'completed'],
    ])
    expect(deltas.map(({ raw }) => raw)).toEqual(['Hi ', '[[S:1]] ok', ''])
    expect(results.get('answer')).toMatchObject({ raw: 'Hi [[S:1]] ok', usedSources: [1], closed: 'tag' })
  })

  it('loop 17.2: plain text is emitted without waiting for more input', async () => {
    const seen: Delta[] = []
    async function* stream(): AsyncGenerator<ModelEvent> {
      yield { type: 'text.delta', text: '<channel:answer>Hello wor' }
      expect(texts(seen)).toBe('Hello wor')
    }
    await run([], { stream: stream(), emit: (delta) => void seen.push(delta) })
    expect(seen).toHaveLength(2)
  })

  it('loop 17.4: a bracket that does not become a citation is emitted with the text after it', async () => {
    const { deltas } = await run(['<channel:answer>x [', 'y'])
    expect(deltas.map(shape)).toEqual([
      [0, 'x '],
      [1, '[y'],
      [2, '', 'completed'],
    ])
  })

  it('loop 17.17: the index continues over instances, each of which is completed', async () => {
    const { deltas, results } = await run(['<channel:answer>one</channel:answer>mid<channel:answer>two</channel:answer>'])
    expect(deltas.map(({ index, instance, completed }) => [index, instance, completed])).toEqual([
      [0, 0, false],
      [1, 0, true],
      [2, 1, false],
      [3, 1, true],
    ])
    expect(results.get('answer')).toMatchObject({ raw: 'onetwo', instances: ['one', 'two'] })
  })

  it('carry marker, agent, format, artifact and attempt', async () => {
    const { deltas } = await run(['<channel:thinking>t</channel:thinking><channel:answer>a'], { artifactName: 'report', attempt: 2 })
    expect(deltas[0]).toEqual({
      channel: 'thinking',
      instance: 0,
      index: 0,
      text: 't',
      raw: 't',
      marker: 'thinking',
      agent: 'tester',
      format: 'markdown',
      artifact_name: 'report',
      completed: false,
      extra: { attempt: 2 },
    })
    expect(deltas.at(-1)).toMatchObject({ marker: 'answer', completed: true })
  })

  it('contain the raw text of what is not shown', async () => {
    const { deltas, results } = await run(['<channel:answer>a', '[[USAGE:2]]', '</channel:answer>'])
    expect(deltas.map(({ text, raw }) => [text, raw])).toEqual([
      ['a', 'a'],
      ['', '[[USAGE:2]]'],
    ])
    expect(results.get('answer')).toMatchObject({ raw: 'a[[USAGE:2]]', usageSources: [2], usedSources: [] })
  })

  it('leave raw and JSON channels unchanged, but count the citations in JSON', async () => {
    const { deltas, results } = await run(['<channel:code>x = "[[S:1]]"</channel:code><channel:action>{"a":"[[S:1]]"}'])
    expect(texts(deltasOfChannel(deltas, 'code'))).toBe('x = "[[S:1]]"')
    expect(results.get('code')?.usedSources).toEqual([])
    expect(texts(deltasOfChannel(deltas, 'action'))).toBe('{"a":"[[S:1]]"}')
    expect(results.get('action')?.usedSources).toEqual([1])
  })
})

describe('any stream', () => {
  const corpus = [
    'pre<channel:thinking>t [[S:1]]<channel:answer>y [[S:1,9]]</channel:thinking>z 😀</channel:answer>post',
    '<channel:thinking>use `<channel:code>` tag</channel:thinking><channel:code>x=`1`\n</channel:code>',
    '<channel:page><p>[[S:1]]<sup class="cite" data-sids="3">x</sup></p></channel:page><channel:usage>{"a":[1]}',
  ]

  it.each(corpus)('gives the same results, raw text and emitted text however it is split into chunks: %s', async (text) => {
    const whole = await outcome([text])
    for (const pieces of everySegmentation(text, 200)) expect(await outcome(pieces)).toEqual(whole)
  })

  it('neither loses nor repeats text, whatever the model writes', async () => {
    await fc.assert(
      fc.asyncProperty(hostileText(), cuts, async (text, places) => {
        const pieces = await outcome(cutAt(text, places))
        expect(pieces).toEqual(await outcome([text]))
        expect(pieces.meta.raw).toBe(text)
      }),
      { numRuns: 80 },
    )
  })
})

describe('listeners', () => {
  const text = ['<channel:answer>a', 'b</channel:answer>']

  it('loop 17.43: a subscriber that throws does not affect the others', async () => {
    const received: string[] = []
    const broken: Subscriber = () => {
      throw new Error('broken')
    }
    const { deltas, meta } = await run(text, { subscribers: { answer: [broken, async (delta) => void received.push(delta.text)] } })
    expect(received).toEqual(['a', 'b', ''])
    expect(texts(deltas)).toBe('ab')
    expect(meta.problems).toHaveLength(3)
    expect(meta.problems[0]).toMatchObject({ where: 'subscriber', channel: 'answer' })
  })

  it('loop 17.44: a policy violation stops the provider and is thrown to the caller', async () => {
    let cleaned = false
    let aborted: AbortSignal | undefined
    async function* stream(signal: AbortSignal): AsyncGenerator<ModelEvent> {
      aborted = signal
      try {
        for (;;) yield { type: 'text.delta', text: '<channel:answer>x' }
      } finally {
        cleaned = signal.aborted
      }
    }
    const violation = new StreamPolicyViolation('too_chatty', 'enough')
    const guard: Subscriber = () => {
      throw violation
    }
    await expect(run([], { stream, subscribers: { answer: [guard] } })).rejects.toBe(violation)
    expect(cleaned).toBe(true)
    expect(aborted?.reason).toBe(violation)
  })

  it('onRaw gets each piece first, and may stop the stream, too', async () => {
    const order: string[] = []
    await run(text, { onRaw: (piece) => void order.push(`raw ${piece.slice(-1)}`), emit: (delta) => void order.push(`emit ${delta.text}`) })
    expect(order).toEqual(['raw a', 'emit a', 'raw >', 'emit b', 'emit '])
    const onRaw = (piece: string) => {
      if (!piece.startsWith('<')) throw new StreamPolicyViolation('preamble', 'not a channel')
    }
    await expect(run(['Sure, '], { onRaw })).rejects.toMatchObject({ code: 'preamble' })
  })

  it('get the usage channel, which is never shown as the answer', async () => {
    const received: string[] = []
    const subscribers = { usage: [(delta: Delta) => void received.push(delta.text)] }
    const text = '<channel:answer>a</channel:answer><channel:usage>{"t":1}</channel:usage>'
    const shownAs = (emitMarker: string) =>
      run([text], { subscribers, channels: [channels[0] as ChannelSpec, { name: 'usage', format: 'json', emitMarker }] })
    const { deltas, results } = await shownAs('answer')
    expect(deltas).toMatchObject([{ text: 'a' }, { channel: 'answer', completed: true }])
    expect(received).toEqual(['{"t":1}', ''])
    expect(results.get('usage')?.raw).toBe('{"t":1}')
    expect(deltasOfChannel((await shownAs('meter')).deltas, 'usage')).toMatchObject([
      { marker: 'meter', text: '{"t":1}' },
      { completed: true },
    ])
  })

  it('are called in order: the client, then the subscribers as listed', async () => {
    const order: string[] = []
    const note = (name: string) => async (delta: Delta) => {
      await Promise.resolve()
      if (!delta.completed) order.push(`${name} ${delta.text}`)
    }
    await run(text, { emit: note('emit'), subscribers: { answer: [note('first'), note('second')] } })
    expect(order).toEqual(['emit a', 'first a', 'second a', 'emit b', 'first b', 'second b'])
  })

  it('are created for each instance when it begins', async () => {
    const made: number[] = []
    const received: string[] = []
    const factory = {
      forInstance: (instance: number): Subscriber => {
        made.push(instance)
        return (delta) => void received.push(`${instance}:${delta.text}`)
      },
    }
    await run(['<channel:answer>a</channel:answer>', '<channel:answer>b'], { subscribers: { answer: [factory], code: [factory] } })
    expect(made).toEqual([0, 1])
    expect(received).toEqual(['0:a', '0:', '1:b', '1:'])
  })

  it('emit is not called again after three failures in a row, and the stream goes on', async () => {
    let calls = 0
    const received: string[] = []
    const { results, meta } = await run(['<channel:answer>', 'a', 'b', 'c', 'd', 'e'], {
      emit: () => {
        calls++
        throw new Error('gone')
      },
      subscribers: { answer: [(delta) => void received.push(delta.text)] },
    })
    expect(calls).toBe(3)
    expect(received.join('')).toBe('abcde')
    expect(results.get('answer')?.raw).toBe('abcde')
    expect(meta.problems.map(({ where }) => where)).toEqual(['emit', 'emit', 'emit'])
  })

  it('emit is called again after a failure that is followed by a success', async () => {
    let calls = 0
    await run(['<channel:answer>', ...'abcdefgh'], {
      emit: () => {
        if (++calls % 3 !== 0) throw new Error('flaky')
      },
    })
    expect(calls).toBe(9)
  })
})

describe('a composite channel', () => {
  it('gives the client its attributes, and the subscribers its text', async () => {
    const received: string[] = []
    const composite = {
      channel: 'action',
      push: (text: string) => [
        { marker: 'canvas', artifact_name: 'a', format: 'markdown' as const, index: 0, text: text.toUpperCase(), completed: false },
      ],
      end: () => [{ marker: 'canvas', artifact_name: 'a', format: 'markdown' as const, index: 1, text: '', completed: true }],
    }
    const { deltas, results } = await run(['<channel:action>{"a":1}</channel:action>'], {
      composite,
      subscribers: { action: [(delta) => void received.push(delta.text)] },
    })
    expect(deltas).toMatchObject([
      { channel: 'action', marker: 'canvas', artifact_name: 'a', index: 0, text: '{"A":1}', agent: 'tester' },
      { marker: 'canvas', index: 1, completed: true },
    ])
    expect(received).toEqual(['{"a":1}', ''])
    expect(results.get('action')?.raw).toBe('{"a":1}')
  })
})

describe('results', () => {
  const schema = z.object({ a: z.number() })
  const withSchema: readonly ChannelSpec[] = [{ name: 'action', format: 'json', schema }]
  const actionOf = async (body: string, options: Partial<StreamWithChannelsOptions> = {}) =>
    (await run([body], { channels: withSchema, ...options })).results.get('action')

  it('have the object of a channel that matches its schema, fenced or not', async () => {
    expect(await actionOf('<channel:action>{"a":1}')).toMatchObject({ payload: '{"a":1}', obj: { a: 1 } })
    expect(await actionOf('<channel:action>\n```json {"a":1} ```\n')).toMatchObject({ payload: '{"a":1}', obj: { a: 1 } })
    const long = await actionOf('<channel:action>````json\n{"a":1}\n````')
    expect(long).toMatchObject({ payload: '{"a":1}', obj: { a: 1 } })
    expect(long).not.toHaveProperty('repairs')
  })

  it('do not take a fence inside a string for the end of an unclosed code fence', async () => {
    const channels: readonly ChannelSpec[] = [{ name: 'action', format: 'json', schema: z.object({ a: z.string() }) }]
    expect(await actionOf('<channel:action>```json\n{"a":"```x```"}', { channels })).toMatchObject({ obj: { a: '```x```' } })
  })

  it('have the error of a channel that does not match its schema', async () => {
    expect(await actionOf('<channel:action>{"a":"x"}')).toMatchObject({ error: expect.stringMatching(/^a: /) })
    expect(await actionOf('<channel:action>{"a":')).toMatchObject({ error: expect.stringContaining('JSON') })
    expect(await actionOf('<channel:action>{}</channel:action><channel:action>{}')).toMatchObject({ error: 'multiple_channel_instances:2' })
    const unasked = await actionOf('nothing')
    expect(unasked).toMatchObject({ raw: '', instances: [] })
    expect(unasked).not.toHaveProperty('error')
  })

  it('list what a custom parser has repaired', async () => {
    const parse = (payload: string) => ({ ok: true as const, value: JSON.parse(payload.replace(',}', '}')), repairs: ['trailing_comma'] })
    expect(await actionOf('<channel:action>{"a":1,}', { parse })).toMatchObject({ obj: { a: 1 }, repairs: ['trailing_comma'] })
  })

  it('have start and end times if there is a clock', async () => {
    let now = 100
    expect(await actionOf('<channel:action>{}', { clock: () => now++ })).toMatchObject({ startedAt: 100, finishedAt: 101 })
    expect(await actionOf('<channel:action>{}')).not.toHaveProperty('startedAt')
  })
})

describe('the provider', () => {
  const failure: ServiceError = {
    kind: 'overloaded',
    service_name: 'model',
    provider: 'p',
    model_name: 'm',
    error_type: 'Overloaded',
    message: 'try later',
    stage: 'after_output',
    http_status: 529,
    retryable: true,
  }

  it('reports how the call ended and its usage', async () => {
    const stream = modelEvents(['<channel:answer>a'], { type: 'reasoning.delta', text: 'hm' }, finish)
    const { meta } = await run([], { stream })
    expect(meta).toEqual({
      raw: '<channel:answer>a',
      thoughts: 'hm',
      preamble: '',
      strayTags: [],
      unknownChannels: [],
      problems: [],
      usage,
      modelName: 'scripted',
      finishReason: 'stop',
      providerMessageId: 'm1',
    })
  })

  it('that reports an error leaves the text so far, completed as aborted, and its message is not part of the text', async () => {
    const { deltas, results, meta } = await run([], { stream: modelEvents(['<channel:answer>half [['], { type: 'error', error: failure }) })
    expect(results.get('answer')).toMatchObject({ raw: 'half [[', closed: 'cut' })
    expect(texts(deltas)).toBe('half [[')
    expect(deltas.at(-1)).toMatchObject({ completed: true, aborted: true })
    expect(meta.serviceError).toEqual(failure)
    expect(meta.raw).toBe('<channel:answer>half [[')
  })

  it('that throws, immediately or later, does not make the call throw', async () => {
    const atOnce = await run([], {
      stream: () => {
        throw new TypeError('no key')
      },
    })
    expect(atOnce.meta.serviceError).toMatchObject({ kind: 'unknown', error_type: 'TypeError', message: 'no key', stage: 'before_output' })
    async function* later(): AsyncGenerator<ModelEvent> {
      yield { type: 'text.delta', text: '<channel:answer>x' }
      throw new Error('cut')
    }
    const broken = await run([], { stream: later() })
    expect(broken.meta.serviceError).toMatchObject({ message: 'cut', stage: 'after_output' })
    expect(broken.results.get('answer')?.raw).toBe('x')
  })

  it('is stopped by the signal, and the text so far is kept', async () => {
    const outside = new AbortController()
    async function* stream(): AsyncGenerator<ModelEvent> {
      yield { type: 'text.delta', text: '<channel:answer>x' }
      outside.abort(new Error('steer'))
      yield { type: 'text.delta', text: 'y' }
      yield { type: 'text.delta', text: 'z' }
    }
    const { results, meta } = await run([], { stream: stream(), signal: outside.signal })
    expect(results.get('answer')?.raw).toBe('xy')
    expect(meta.serviceError).toMatchObject({ kind: 'aborted', message: 'steer' })
  })

  it('that ignores the signal is abandoned', async () => {
    const outside = new AbortController()
    async function* stream(): AsyncGenerator<ModelEvent> {
      yield { type: 'text.delta', text: '<channel:answer>x' }
      setTimeout(() => outside.abort(new Error('steer')))
      await new Promise(() => {})
    }
    const { deltas, results, meta } = await run([], { stream: stream(), signal: outside.signal })
    expect(results.get('answer')?.raw).toBe('x')
    expect(deltas.at(-1)).toMatchObject({ completed: true, aborted: true })
    expect(meta.serviceError).toMatchObject({ kind: 'aborted', message: 'steer', stage: 'after_output' })
  })
})
