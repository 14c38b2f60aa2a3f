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

/** Letters of two, three and four bytes, so that a cut falls into each. */
const words = 'Zürich – 21 °C, 东京 🏔️'
const usage = { input: 30, output: 9 }

/** Whole streams as the providers write them: the text in two pieces, an ending, and whatever a test puts behind it. */
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

/** The network brings so many bytes at a time. */
const bringing =
  (bytes: Uint8Array, atOnce: number): Fetch =>
  async () => {
    const pieces = Array.from({ length: Math.ceil(bytes.length / atOnce) }, (_, n) => bytes.slice(n * atOnce, (n + 1) * atOnce))
    return new Response(ReadableStream.from(pieces), { headers: { 'content-type': 'text/event-stream' } })
  }

const said = (events: readonly ModelEvent[]) => events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('')
const hear = (name: FakeProviderName, fetch: Fetch) => ask(modelFrom(models[name](fetch)), requestOf([text('Hello')]))

describe.each(everyProvider)('a stream of %s', (name) => {
  const whole = streams[name]([words.slice(0, 9), words.slice(9)], [])

  it.each([1, 2, 3, 7, 1_000_000])(
    'is the same when the network brings %i bytes at a time, in the middle of a letter or not',
    async (atOnce) => {
      const events = await hear(name, bringing(sse(whole), atOnce))
      expect(said(events)).toBe(words)
      expect(events.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop', usage: { uncached: usage.input, output: usage.output } })
    },
  )

  it('may end its lines as it likes, and say hello in between', async () => {
    const comment = new TextEncoder().encode(': keep alive\r\n\r\n')
    const events = await hear(name, bringing(new Uint8Array([...comment, ...sse(whole, '\r\n\r\n')]), 5))
    expect(said(events)).toBe(words)
    expect(events.at(-1)).toMatchObject({ type: 'finish' })
  })

  it('ends once, whatever comes behind its end', async () => {
    const again = streams[name]([' And more.'], [])
    const events = await hear(name, bringing(sse(streams[name]([words], again)), 64))
    expect(events.filter(({ type }) => type === 'finish' || type === 'error')).toHaveLength(1)
    expect(said(events).startsWith(words)).toBe(true)
  })

  it('that is empty is no answer, and may be asked for again', async () => {
    const events = await hear(name, bringing(new Uint8Array(), 1))
    expect(events).toMatchObject([{ type: 'error', error: { retryable: true, stage: 'before_output' } }])
  })

  it('that breaks off within a letter keeps what was whole, and says that it broke', async () => {
    const bytes = sse(whole)
    const mountain = Buffer.from(bytes).indexOf(Buffer.from('🏔'))
    const events = await hear(name, bringing(bytes.slice(0, mountain + 2), 16))
    expect(said(events)).toBe(words.slice(0, 9))
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { retryable: true, stage: 'after_output' } })
  })
})

it('a prompt that google blocks comes back well, and empty: it is the filter, and it has counted what it read', async () => {
  const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } }
  const events = await hear('google', bringing(sse([blocked]), 64))
  expect(events).toMatchObject([{ type: 'error', error: { kind: 'content_filter', retryable: false }, usage: { uncached: 9, output: 0 } }])
})

it('an answer that google itself calls broken may be asked for again, and is on the bill', async () => {
  const broken = {
    candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }],
    usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 9, totalTokenCount: 39 },
  }
  const events = await hear('google', bringing(sse([broken]), 64))
  expect(events).toMatchObject([{ type: 'error', error: { retryable: true, stage: 'before_output' }, usage: { uncached: 30, output: 9 } }])
})

it('another model that answered is named, because another price holds; a secret in its place is not', async () => {
  const answeredBy = async (model: string) => {
    const frames = streams.compatible(['Hi.'], []).map((frame) => (typeof frame === 'object' ? { ...frame, model } : frame))
    return (await hear('compatible', bringing(sse(frames), 64))).at(-1)
  }
  expect(await answeredBy('qwen3-2026-01-01')).toMatchObject({ modelName: 'compatible/qwen3' })
  expect(await answeredBy('llama4')).toMatchObject({ modelName: 'compatible/llama4' })
  for (const model of ['sk-planted-9f3kQzT71xWmN4bVc8', 'a model\nof mine', 'x'.repeat(200), '']) {
    expect(await answeredBy(model)).toMatchObject({ modelName: 'compatible/qwen3' })
  }
})
