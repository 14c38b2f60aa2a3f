import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import {
  ask,
  everyProvider,
  imagePart,
  marked,
  modelNames,
  pdfPart,
  requestOf,
  text,
} from '../../../test/support/models/provider-models.ts'
import { Failure } from '../../core/failure.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import { type FakeProvider, type FakeProviderName, type FakeScript, startFakeProvider } from '../../testing/fake-providers/fake-provider.ts'
import { modelFrom, type NamedModelOptions } from './model-from.ts'

async function withProvider<T>(
  name: FakeProviderName,
  script: FakeScript,
  work: (model: ReturnType<typeof modelFrom>, provider: FakeProvider) => Promise<T>,
  options: NamedModelOptions = {},
): Promise<T> {
  const provider = await startFakeProvider(name, script)
  try {
    return await work(modelFrom(modelNames[name], { environment: provider.environment, ...options }), provider)
  } finally {
    await provider.close()
  }
}

const hello = requestOf([text('Hello.')])
const textsIn = (events: readonly ModelEvent[]) => events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : []))
const last = (events: readonly ModelEvent[]) => events.at(-1)

describe.each(everyProvider)('a model of %s', (name) => {
  it('streams its reasoning and its text in pieces, then the reason it ended', () =>
    withProvider(name, [{ text: 'Good morning, you.', chunks: 7, reasoning: 'A greeting.' }], async (model) => {
      const events = await ask(model, hello)
      expect(events.slice(0, -1)).toEqual([
        { type: 'reasoning.delta', text: 'A greeting.' },
        { type: 'text.delta', text: 'Good mo' },
        { type: 'text.delta', text: 'rning, ' },
        { type: 'text.delta', text: 'you.' },
      ])
      expect(last(events)).toMatchObject({
        type: 'finish',
        finishReason: 'stop',
        modelName: modelNames[name],
        usage: { output: expect.any(Number), reasoning: expect.any(Number) },
        providerMessageId: expect.stringMatching(/fake/),
      })
    }))

  it.each(['stop', 'length', 'content_filter'] as const)('reports the finish reason %s', (finish) =>
    withProvider(name, [{ text: 'Well', finish }], async (model) => {
      expect(last(await ask(model, hello))).toMatchObject({ type: 'finish', finishReason: finish })
    }),
  )

  it('stops in the middle of a stream when aborted, and closes the connection', () =>
    withProvider(name, [{ text: 'One. Two.', chunks: 4, fault: 'stall' }], async (model, provider) => {
      const stop = new AbortController()
      const events: ModelEvent[] = []
      for await (const event of model.stream(hello, stop.signal)) {
        events.push(event)
        if (textsIn(events).join('') === 'One. Two.') stop.abort()
      }
      expect(last(events)).toMatchObject({ type: 'error', error: { kind: 'aborted', stage: 'after_output', retryable: false } })
      await expect.poll(() => provider.abandoned).toBe(1)
    }))

  it('closes the connection when the consumer stops reading', () =>
    withProvider(name, [{ text: 'One. Two.', chunks: 4, fault: 'stall' }], async (model, provider) => {
      for await (const _ of model.stream(hello, new AbortController().signal)) break
      await expect.poll(() => provider.abandoned).toBe(1)
    }))

  it('ends with an error event when it was aborted before the call', () =>
    withProvider(name, ['Hello.'], async (model) => {
      expect(await ask(model, hello, AbortSignal.abort())).toMatchObject([
        { type: 'error', error: { kind: 'aborted', stage: 'before_output' } },
      ])
    }))
})

it('cuts off a provider that ignores the output limit', () =>
  withProvider('compatible', [{ text: 'all work and no play '.repeat(100), chunks: 21 }], async (model, provider) => {
    const events = await ask(model, requestOf([text('Hello.')], { maxTokens: 10 }))
    expect(textsIn(events).join('').length).toBeLessThanOrEqual(640)
    expect(last(events)).toMatchObject({ type: 'error', error: { kind: 'malformed_response', retryable: false } })
    expect(provider.requests).toHaveLength(1)
  }))

describe('the request', () => {
  const bodyOf = (provider: FakeProvider) => provider.requests[0]?.body as Record<string, unknown>

  it('never asks for more output than the model supports', () =>
    withProvider('anthropic', ['Hi.'], async (model, provider) => {
      await ask(model, requestOf([text('Hello.')], { maxTokens: 500_000 }))
      expect(bodyOf(provider).max_tokens).toBe(128_000)
    }))

  it.each(everyProvider)('replaces lone surrogates, which %s rejects, by U+FFFD', (name) =>
    withProvider(name, ['Hi.'], async (model, provider) => {
      const emoji = '😀'
      await ask(model, requestOf([text(`cut ${emoji[0]}`), text(`${emoji[1]} off ${emoji}`)], { system: `You are ${emoji[0]}.` }))
      const raw = provider.requests[0]?.raw ?? ''
      expect(raw).not.toMatch(/\\ud[89a-f]/i)
      expect(raw).toContain('cut \ufffd')
      expect(raw).toContain(`\ufffd off ${emoji}`)
      expect(raw).toContain('You are \ufffd.')
    }),
  )

  it('replaces an image that the model does not accept by a line of text, and keeps its cache mark', () =>
    withProvider(
      'anthropic',
      ['Hi.'],
      async (model, provider) => {
        await ask(model, requestOf([marked(imagePart()), pdfPart()]))
        const [{ content }] = bodyOf(provider).messages as [{ content: readonly { type: string; text?: string; cache_control?: object }[] }]
        expect(content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/^\[image not shown: image\/png, 70 bytes/) })
        expect(content[0]?.cache_control).toEqual({ type: 'ephemeral' })
        expect(content[1]).toMatchObject({ type: 'document' })
      },
      { images: false },
    ))

  it('sends inline bytes without reading them from the store', () =>
    withProvider('google', ['Hi.'], async (model, provider) => {
      const part = { type: 'image', media_type: 'image/png', blob: { sha256: '', size: 3 }, base64: 'AAEC' } as const
      await ask(model, requestOf([part], { read: () => Promise.reject(new Error('the store must not be read')) }))
      expect(JSON.stringify(bodyOf(provider).contents)).toContain('"data":"AAEC"')
    }))

  it('throws the Failure of a store that lost the bytes, because it is not the provider’s error', () =>
    withProvider('google', ['Hi.'], async (model, provider) => {
      const lost = new Failure('blob.missing', 'it is gone')
      await expect(ask(model, requestOf([imagePart()], { read: () => Promise.reject(lost) }))).rejects.toBe(lost)
      expect(provider.requests).toEqual([])
    }))

  it('rejects a cache time to live that the provider does not offer', () => {
    const environment = { ANTHROPIC_API_KEY: 'k' }
    expect(() => modelFrom('anthropic/claude-opus-5-5', { environment, cacheTtlSeconds: 86_400 })).toThrow(/300 or 3600 seconds/)
  })
})

describe('an AI SDK model passed to modelFrom', () => {
  const finish: LanguageModelV3StreamPart = {
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 10, noCache: undefined, cacheRead: 4, cacheWrite: undefined },
      outputTokens: { total: 2, text: 2, reasoning: undefined },
    },
  }
  const v3Model = (parts: readonly LanguageModelV3StreamPart[], onCall: (options: LanguageModelV3CallOptions) => void = () => {}) =>
    ({
      specificationVersion: 'v3',
      provider: 'acme.chat',
      modelId: 'rocket-1',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('never used')),
      async doStream(options) {
        onCall(options)
        return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV3StreamPart> }
      },
    }) satisfies LanguageModelV3

  it('may be of version 3 of the SDK’s interface: it gets files as bytes, and a count of uncached tokens that it does not report is computed', async () => {
    let call: LanguageModelV3CallOptions | undefined
    const words: LanguageModelV3StreamPart = { type: 'text-delta', id: '1', delta: 'Hi.' }
    const model = modelFrom(v3Model([words, finish], (options) => (call = options)))
    const events = await ask(model, requestOf([marked(imagePart())]))
    const usage = { uncached: 6, cacheRead: 4, cacheWrite: 0, output: 2, reasoning: 0 }
    expect(events).toEqual([
      { type: 'text.delta', text: 'Hi.' },
      { type: 'finish', finishReason: 'stop', modelName: 'acme/rocket-1', usage },
    ])
    const [, user] = call?.prompt ?? []
    // a provider without cache rules gets no marks
    expect(user?.content).toEqual([{ type: 'file', mediaType: 'image/png', data: expect.any(Uint8Array) }])
  })

  it('reports the name of another model that answered, but not of a dated version', async () => {
    const model = modelFrom(v3Model([{ type: 'response-metadata', modelId: 'rocket-2' }, finish]))
    expect(last(await ask(model, hello))).toMatchObject({ modelName: 'acme/rocket-2' })
    const dated = modelFrom(v3Model([{ type: 'response-metadata', modelId: 'rocket-1-2026-11-01' }, finish]))
    expect(last(await ask(dated, hello))).toMatchObject({ modelName: 'acme/rocket-1' })
  })

  it.each([
    ['no usage', { usage: undefined }, 'stop'],
    ['an unknown finish reason', { finishReason: { unified: 'end_turn', raw: 'end_turn' } }, 'other'],
    ['a finish reason as a text', { finishReason: 'stop' }, 'other'],
    ['no finish reason', { finishReason: undefined }, 'other'],
  ])('loses no answer when its finish part has %s', async (_, fields, finishReason) => {
    const odd = { type: 'text-delta', id: '1', delta: 5 } as unknown as LanguageModelV3StreamPart
    const parts = [odd, { type: 'text-delta', id: '1', delta: 'Hi.' }, { ...finish, ...fields }] as readonly LanguageModelV3StreamPart[]
    expect(await ask(modelFrom(v3Model(parts)), hello)).toMatchObject([
      { type: 'text.delta', text: 'Hi.' },
      { type: 'finish', finishReason },
    ])
  })

  it('has failed when its stream ends without a finish part or with finish reason error', async () => {
    expect(last(await ask(modelFrom(v3Model([])), hello))).toMatchObject({ error: { kind: 'connection', retryable: true } })
    const failed = v3Model([{ ...finish, finishReason: { unified: 'error', raw: 'x' } }])
    expect(last(await ask(modelFrom(failed), hello))).toMatchObject({ error: { kind: 'unknown' } })
  })

  it('is rejected when it implements an older version', () => {
    const ancient = { ...v3Model([]), specificationVersion: 'v2' } as unknown as LanguageModelV3
    expect(() => modelFrom(ancient)).toThrow(/acme.chat implements version v2 .* update its package/)
  })
})
