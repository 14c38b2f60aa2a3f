import { createOpenAI } from '@ai-sdk/openai'
import { describe, expect, it } from 'vitest'
import { ask, everyProvider, modelNames, requestOf, text } from '../../../test/support/models/provider-models.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import type { RequestTool } from '../../ports/model.ts'
import { startFakeProvider } from '../../testing/fake-providers/fake-provider.ts'
import type { FakeReply } from '../../testing/fake-providers/provider-format.ts'
import { modelFrom } from './model-from.ts'

const tools: readonly RequestTool[] = [
  {
    name: 'weather__today',
    description: 'The weather.',
    schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  { name: 'notes__list', description: 'All notes.', schema: { type: 'object', properties: {}, required: [] } },
]

async function eventsOf(name: (typeof everyProvider)[number], reply: FakeReply): Promise<readonly ModelEvent[]> {
  const provider = await startFakeProvider(name, [reply])
  try {
    const model = modelFrom(modelNames[name], { environment: provider.environment })
    return await ask(model, requestOf([text('Hello')], { tools }))
  } finally {
    await provider.close()
  }
}

/** The calls of a response, and its text, without the borders of the pieces. */
function summary(events: readonly ModelEvent[]) {
  const calls: { name: string; input: string; ended: boolean }[] = []
  let words = ''
  let finish = ''
  for (const event of events) {
    if (event.type === 'text.delta') words += event.text
    else if (event.type === 'call.start') calls[event.index] = { name: event.name, input: '', ended: false }
    else if (event.type === 'call.delta') (calls[event.index] as (typeof calls)[0]).input += event.text
    else if (event.type === 'call.end') (calls[event.index] as (typeof calls)[0]).ended = true
    else if (event.type === 'finish') finish = event.finishReason
    else if (event.type === 'error') finish = `error ${event.error.kind} ${event.error.retryable}`
  }
  return { calls, words, finish }
}

const rome = { name: 'weather__today', input: { city: 'Rome' } }
const oslo = { name: 'weather__today', input: { city: 'Oslo' } }

describe.each(everyProvider)('native calls of %s', (name) => {
  it('text, then two calls with arguments in pieces', async () => {
    const seen = summary(await eventsOf(name, { text: 'Let me look.', calls: [rome, oslo], chunks: 3 }))
    expect(seen).toEqual({
      words: 'Let me look.',
      calls: [
        { name: 'weather__today', input: '{"city":"Rome"}', ended: true },
        { name: 'weather__today', input: '{"city":"Oslo"}', ended: true },
      ],
      finish: 'stop',
    })
  })

  it('a call without arguments, alone', async () => {
    const { calls, words, finish } = summary(await eventsOf(name, { calls: [{ name: 'notes__list', input: {} }] }))
    expect({ calls, words, finish }).toEqual({ words: '', calls: [{ name: 'notes__list', input: '{}', ended: true }], finish: 'stop' })
  })

  it('two calls with the same id are two calls', async () => {
    const { calls } = summary(
      await eventsOf(name, {
        calls: [
          { ...rome, id: 'same' },
          { ...oslo, id: 'same' },
        ],
      }),
    )
    expect(calls.map(({ input }) => input)).toEqual(['{"city":"Rome"}', '{"city":"Oslo"}'])
  })

  it('a response that the output limit cut off inside a call', async () => {
    const { calls, finish } = summary(await eventsOf(name, { text: 'Yes.', calls: [rome], finish: 'length' }))
    expect(finish).toBe('length')
    expect(calls).toHaveLength(1)
  })

  it('a refusal', async () => {
    expect(summary(await eventsOf(name, { text: 'No', finish: 'content_filter' })).finish).toBe('content_filter')
    expect(summary(await eventsOf(name, { text: '', finish: 'content_filter' })).finish).toBe('error content_filter false')
  })

  it('the tools are in the request, without a tool choice, and without a mark of their own', async () => {
    const provider = await startFakeProvider(name, [{ calls: [rome] }])
    const model = modelFrom(modelNames[name], { environment: provider.environment })
    await ask(model, requestOf([text('Hello')], { tools }))
    const { raw } = provider.requests[0] ?? { raw: '' }
    await provider.close()
    expect(raw.indexOf('weather__today')).toBeGreaterThan(0)
    expect(raw.indexOf('weather__today')).toBeLessThan(raw.indexOf('notes__list'))
    expect(raw).not.toMatch(/tool_?choice|toolConfig/i)
    const body = JSON.parse(raw) as { tools: unknown }
    expect(JSON.stringify(body.tools)).not.toMatch(/cache_control|breakpoint/)
  })
})

it('chat completions: calls without ids, and calls with the same index', async () => {
  const withoutIds = summary(
    await eventsOf('compatible', {
      calls: [
        { ...rome, id: null },
        { ...oslo, id: null },
      ],
      chunks: 4,
    }),
  )
  expect(withoutIds.calls.map(({ input }) => input)).toEqual(['{"city":"Rome"}', '{"city":"Oslo"}'])
  const sameIndex = summary(
    await eventsOf('compatible', {
      calls: [
        { ...rome, index: 0 },
        { ...oslo, index: 0 },
      ],
    }),
  )
  expect(sameIndex.calls.map(({ input }) => input)).toEqual(['{"city":"Rome"}', '{"city":"Oslo"}'])
})

it('chat completions: a server that ends a response with calls by `stop`', async () => {
  expect(summary(await eventsOf('compatible', { calls: [rome], finish: 'stop' }))).toMatchObject({
    finish: 'stop',
    calls: [{ ended: true }],
  })
})

it('if Google reports that the model wrote a call that can not be read, the response has a call without a name', async () => {
  expect(summary(await eventsOf('google', { finish: 'malformed_call' }))).toEqual({
    words: '',
    calls: [{ name: '', input: '', ended: false }],
    finish: 'other',
  })
})

it('a model of the AI SDK can use the chat completions of OpenAI', async () => {
  const provider = await startFakeProvider('compatible', [{ text: 'Look.', calls: [rome], chunks: 2 }])
  const model = modelFrom(createOpenAI({ apiKey: 'k', baseURL: `${provider.address}/v1` }).chat('gpt-5.4'))
  const seen = summary(await ask(model, requestOf([text('Hello')], { tools })))
  await provider.close()
  expect(seen).toMatchObject({ words: 'Look.', calls: [{ input: '{"city":"Rome"}' }], finish: 'stop' })
})

it('models of Ollama and of unknown servers speak native, others channels', async () => {
  const environment = { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1', ANTHROPIC_API_KEY: 'k' }
  expect(modelFrom('ollama/qwen3', { environment }).dialect).toBe('native')
  expect(modelFrom('compatible/qwen3', { environment }).dialect).toBe('native')
  expect(modelFrom('anthropic/claude-sonnet-5-5', { environment }).dialect).toBe('channels')
})
