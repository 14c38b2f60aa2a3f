import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { ask, everyProvider, requestOf, text } from '../../../test/support/models/provider-models.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import type { FakeProviderName } from '../../testing/fake-providers/fake-provider.ts'
import type { SdkModel } from './ai-sdk.ts'
import { modelFrom } from './model-from.ts'

/** Contains characters of two, three and four bytes, so that some chunks end inside a character of each length. */
const words = 'Zürich – 21 °C, 东京 🏔️'
const usage = { input: 30, output: 9 }

/** Makes complete streams in the format of each provider: the pieces of text, an end, and then the events in `after`. */
const streams: Readonly<Record<FakeProviderName, (pieces: readonly string[], after: readonly unknown[]) => readonly unknown[]>> = {
  anthropic: (pieces, after) => [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-5-5',
        content: [],
        usage: { input_tokens: usage.input, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((piece) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: usage.output } },
    { type: 'message_stop' },
    ...after,
  ],
  openai: (pieces, after) => {
    const response = { id: 'r', created_at: 1, model: 'gpt-6-sol' }
    const item = { type: 'message', id: 'x', role: 'assistant', status: 'in_progress', content: [] }
    return [
      { type: 'response.created', response },
      { type: 'response.output_item.added', output_index: 0, item },
      ...pieces.map((delta) => ({
        type: 'response.output_text.delta',
        item_id: 'x',
        output_index: 0,
        content_index: 0,
        delta,
        logprobs: [],
      })),
      { type: 'response.completed', response: { ...response, usage: { input_tokens: usage.input, output_tokens: usage.output } } },
      ...after,
    ]
  },
  google: (pieces, after) => [
    ...pieces.map((piece) => ({ candidates: [{ content: { role: 'model', parts: [{ text: piece }] }, index: 0 }] })),
    {
      candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: usage.input, candidatesTokenCount: usage.output, totalTokenCount: usage.input + usage.output },
    },
    ...after,
  ],
  compatible: (pieces, after) => {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: 'c',
      created: 1,
      model: 'qwen3',
      choices: [{ index: 0, delta, finish_reason }],
    })
    const bill = { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output }
    return [...pieces.map((content) => chunk({ content })), chunk({}, 'stop'), { choices: [], usage: bill }, ...after, '[DONE]']
  },
}

type Fetch = () => Promise<Response>
const models: Readonly<Record<FakeProviderName, (fetch: Fetch) => SdkModel>> = {
  anthropic: (fetch) => createAnthropic({ apiKey: 'k', fetch }).languageModel('claude-sonnet-5-5'),
  openai: (fetch) => createOpenAI({ apiKey: 'k', fetch }).responses('gpt-6-sol'),
  google: (fetch) => createGoogle({ apiKey: 'k', fetch }).languageModel('gemini-3.8-flash'),
  compatible: (fetch) => createOpenAICompatible({ name: 'compatible', baseURL: 'http://127.0.0.1:1/v1', fetch }).chatModel('qwen3'),
}

const sse = (frames: readonly unknown[], end = '\n\n') =>
  new TextEncoder().encode(frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}${end}`).join(''))

/** Makes a fetch whose response arrives in chunks of `chunkSize` bytes. */
const inChunks =
  (bytes: Uint8Array, chunkSize: number): Fetch =>
  async () => {
    const chunks = Array.from({ length: Math.ceil(bytes.length / chunkSize) }, (_, n) => bytes.slice(n * chunkSize, (n + 1) * chunkSize))
    return new Response(ReadableStream.from(chunks), { headers: { 'content-type': 'text/event-stream' } })
  }

const textOf = (events: readonly ModelEvent[]) => events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('')
const run = (name: FakeProviderName, fetch: Fetch) => ask(modelFrom(models[name](fetch)), requestOf([text('Hello')]))

describe.each(everyProvider)('a stream of %s', (name) => {
  const whole = streams[name]([words.slice(0, 9), words.slice(9)], [])

  it.each([1, 2, 3, 7, 1_000_000])(
    'gives the same events when it arrives in chunks of %i bytes, cut inside characters or not',
    async (chunkSize) => {
      const events = await run(name, inChunks(sse(whole), chunkSize))
      expect(textOf(events)).toBe(words)
      expect(events.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop', usage: { uncached: usage.input, output: usage.output } })
    },
  )

  it('may use CRLF line ends and contain comments', async () => {
    const comment = new TextEncoder().encode(': keep alive\r\n\r\n')
    const events = await run(name, inChunks(new Uint8Array([...comment, ...sse(whole, '\r\n\r\n')]), 5))
    expect(textOf(events)).toBe(words)
    expect(events.at(-1)).toMatchObject({ type: 'finish' })
  })

  it('ends once, whatever follows its end', async () => {
    const again = streams[name]([' And more.'], [])
    const events = await run(name, inChunks(sse(streams[name]([words], again)), 64))
    expect(events.filter(({ type }) => type === 'finish' || type === 'error')).toHaveLength(1)
    expect(textOf(events).startsWith(words)).toBe(true)
  })

  it('is a retryable error when it is empty', async () => {
    const events = await run(name, inChunks(new Uint8Array(), 1))
    expect(events).toMatchObject([{ type: 'error', error: { retryable: true, stage: 'before_output' } }])
  })

  it('keeps the complete characters and ends with an error when it breaks off inside a character', async () => {
    const bytes = sse(whole)
    const mountain = Buffer.from(bytes).indexOf(Buffer.from('🏔'))
    const events = await run(name, inChunks(bytes.slice(0, mountain + 2), 16))
    expect(textOf(events)).toBe(words.slice(0, 9))
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { retryable: true, stage: 'after_output' } })
  })
})

it('reports a prompt that Google blocks as content_filter, with the tokens of the prompt', async () => {
  const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } }
  const events = await run('google', inChunks(sse([blocked]), 64))
  expect(events).toMatchObject([{ type: 'error', error: { kind: 'content_filter', retryable: false }, usage: { uncached: 9, output: 0 } }])
})

it('reports an answer that Google calls malformed as retryable, with its tokens', async () => {
  const broken = {
    candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }],
    usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 9, totalTokenCount: 39 },
  }
  const events = await run('google', inChunks(sse([broken]), 64))
  expect(events).toMatchObject([{ type: 'error', error: { retryable: true, stage: 'before_output' }, usage: { uncached: 30, output: 9 } }])
})

it('reports the name of another model that answered, unless the name may be a secret', async () => {
  const answeredBy = async (model: string) => {
    const frames = streams.compatible(['Hi.'], []).map((frame) => (typeof frame === 'object' ? { ...frame, model } : frame))
    return (await run('compatible', inChunks(sse(frames), 64))).at(-1)
  }
  expect(await answeredBy('qwen3-2026-01-01')).toMatchObject({ modelName: 'compatible/qwen3' })
  expect(await answeredBy('llama4')).toMatchObject({ modelName: 'compatible/llama4' })
  for (const model of ['sk-planted-9f3kQzT71xWmN4bVc8', 'a model\nof mine', 'x'.repeat(200), '']) {
    expect(await answeredBy(model)).toMatchObject({ modelName: 'compatible/qwen3' })
  }
})
