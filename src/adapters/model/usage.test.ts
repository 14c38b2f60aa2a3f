import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { ask, requestOf, text } from '../../../test/support/models/provider-models.ts'
import type { ModelUsage } from '../../core/model-event.ts'
import type { SdkModel } from './ai-sdk.ts'
import { modelFrom } from './model-from.ts'
import { type ProviderRules, providerRules, type RulesName } from './provider-rules.ts'
import { parseUsage } from './usage.ts'

/** Usage in the form in which the providers report it, including fields that `parseUsage` ignores. */
const usages: Readonly<Record<string, readonly (readonly [what: string, wire: object | undefined, expected: ModelUsage | undefined])[]>> = {
  anthropic: [
    [
      'nothing cached',
      { input_tokens: 2_095, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 503, service_tier: 'standard' },
      { uncached: 2_095, cacheRead: 0, cacheWrite: 0, output: 503, reasoning: 0 },
    ],
    [
      'written for five minutes: cached tokens are reported beside the input',
      {
        input_tokens: 21,
        cache_creation_input_tokens: 188_086,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 188_086, ephemeral_1h_input_tokens: 0 },
        output_tokens: 393,
      },
      { uncached: 21, cacheRead: 0, cacheWrite: 188_086, output: 393, reasoning: 0 },
    ],
    [
      'read',
      { input_tokens: 21, cache_creation_input_tokens: 0, cache_read_input_tokens: 188_086, output_tokens: 393 },
      { uncached: 21, cacheRead: 188_086, cacheWrite: 0, output: 393, reasoning: 0 },
    ],
    [
      'written partly for an hour, partly for five minutes',
      {
        input_tokens: 50,
        cache_creation_input_tokens: 556,
        cache_read_input_tokens: 1_800,
        cache_creation: { ephemeral_5m_input_tokens: 456, ephemeral_1h_input_tokens: 100 },
        output_tokens: 500,
        output_tokens_details: { thinking_tokens: 120 },
      },
      { uncached: 50, cacheRead: 1_800, cacheWrite: 556, cacheWriteLong: 100, output: 500, reasoning: 120 },
    ],
  ],
  openai: [
    [
      'a miss',
      { input_tokens: 2_006, input_tokens_details: { cached_tokens: 0 }, output_tokens: 300, total_tokens: 2_306 },
      { uncached: 2_006, cacheRead: 0, cacheWrite: 0, output: 300, reasoning: 0 },
    ],
    [
      'a hit: cached tokens are part of the input',
      {
        input_tokens: 2_006,
        input_tokens_details: { cached_tokens: 1_920 },
        output_tokens: 300,
        output_tokens_details: { reasoning_tokens: 256 },
        total_tokens: 2_306,
      },
      { uncached: 86, cacheRead: 1_920, cacheWrite: 0, output: 300, reasoning: 256 },
    ],
    [
      'a write, which newer models report',
      {
        input_tokens: 5_000,
        input_tokens_details: { cached_tokens: 3_000, cache_write_tokens: 1_500, cache_write_tokens_details: { ttl_30m_tokens: 1_500 } },
        output_tokens: 10,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 5_010,
      },
      { uncached: 500, cacheRead: 3_000, cacheWrite: 1_500, output: 10, reasoning: 0 },
    ],
  ],
  google: [
    [
      'a miss',
      { promptTokenCount: 5_100, candidatesTokenCount: 40, totalTokenCount: 5_140 },
      { uncached: 5_100, cacheRead: 0, cacheWrite: 0, output: 40, reasoning: 0 },
    ],
    [
      'a hit: cached tokens are part of the prompt, reasoning is not part of the candidates',
      {
        promptTokenCount: 5_152,
        cachedContentTokenCount: 5_027,
        candidatesTokenCount: 40,
        thoughtsTokenCount: 200,
        totalTokenCount: 5_392,
      },
      { uncached: 125, cacheRead: 5_027, cacheWrite: 0, output: 240, reasoning: 200 },
    ],
  ],
  compatible: [
    [
      'a hit',
      {
        prompt_tokens: 1_000,
        completion_tokens: 50,
        total_tokens: 1_050,
        prompt_tokens_details: { cached_tokens: 960 },
        completion_tokens_details: null,
      },
      { uncached: 40, cacheRead: 960, cacheWrite: 0, output: 50, reasoning: 0 },
    ],
    [
      'no details',
      { prompt_tokens: 26, completion_tokens: 298, total_tokens: 324 },
      { uncached: 26, cacheRead: 0, cacheWrite: 0, output: 298, reasoning: 0 },
    ],
    ['no usage is undefined, not zero', undefined, undefined],
    ['empty usage is undefined', {}, undefined],
    ['a prompt of zero tokens is undefined', { prompt_tokens: 0, completion_tokens: 9, total_tokens: 9 }, undefined],
    ['zero output tokens for an answer with text is undefined', { prompt_tokens: 26, completion_tokens: 0, total_tokens: 26 }, undefined],
    ['an impossibly large count is undefined', { prompt_tokens: 1e300, completion_tokens: 5, total_tokens: 1e300 }, undefined],
    ['a negative count is undefined', { prompt_tokens: -26, completion_tokens: 5, total_tokens: -21 }, undefined],
    [
      'more cached tokens than prompt tokens leaves zero uncached',
      { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, prompt_tokens_details: { cached_tokens: 140 } },
      { uncached: 0, cacheRead: 140, cacheWrite: 0, output: 5, reasoning: 0 },
    ],
  ],
}

describe.each(Object.keys(usages))('the usage reported by %s in a stream', (name) => {
  it.each(usages[name] ?? [])('%s', async (_, wire, expected) => {
    const model = modelFrom((models[name] as (usage: object | undefined) => SdkModel)(wire))
    const events = await ask(model, requestOf([text('Hello')]))
    expect(events.at(-1)).toMatchObject({ type: 'finish' })
    expect(events.at(-1)).toEqual(
      expected ? expect.objectContaining({ usage: expected }) : expect.not.objectContaining({ usage: expect.anything() }),
    )
  })
})

/** The agent always streams. This test shows that responses without streaming are parsed to the same usage. */
describe.each(Object.keys(usages))('the usage reported by %s with a response in one piece', (name) => {
  it.each((usages[name] ?? []).filter(([, wire, expected]) => wire && expected))('%s', async (_, wire, expected) => {
    const model = (modelsInOnePiece[name] as (usage: object) => GeneratingModel)(wire as object)
    const rules: ProviderRules = providerRules[name as RulesName]
    const { usage } = await model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] })
    expect(parseUsage(usage, rules.longWritesPath, true)).toEqual(expected)
  })
})

it.each([
  ['nothing', undefined],
  ['no counts', {}],
  ['null', { inputTokens: null, outputTokens: null }],
  ['no output', { inputTokens: { total: 10 } }],
  ['a text as the input', { inputTokens: { total: '10' }, outputTokens: { total: 2 } }],
  ['a text as uncached tokens', { inputTokens: { noCache: '10' }, outputTokens: { total: 2 } }],
  ['NaN as uncached tokens', { inputTokens: { noCache: Number.NaN }, outputTokens: { total: 2 } }],
  ['infinity as the output', { inputTokens: { total: 10 }, outputTokens: { total: Number.POSITIVE_INFINITY } }],
])('an SDK provider that reports %s has no usage', (_, reported) => {
  expect(parseUsage(reported as never, undefined, true)).toBeUndefined()
})

it('counts that an SDK provider reports as null are 0', () => {
  const reported = { inputTokens: { total: 10, cacheRead: null }, outputTokens: { total: 2, reasoning: null } }
  expect(parseUsage(reported as never, undefined, true)).toEqual({ uncached: 10, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 })
})

type GeneratingModel = Pick<LanguageModelV4, 'doGenerate'>

const json = (body: object) => async () => Response.json(body)

const modelsInOnePiece: Readonly<Record<string, (usage: object) => GeneratingModel>> = {
  anthropic: (usage) => {
    const content = [{ type: 'text', text: 'Hi' }]
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-5-5', content, stop_reason: 'end_turn', usage }
    return createAnthropic({ apiKey: 'k', fetch: json(message) }).languageModel('claude-sonnet-5-5')
  },
  openai: (usage) => {
    const content = [{ type: 'output_text', text: 'Hi', annotations: [] }]
    const output = [{ type: 'message', role: 'assistant', id: 'm', content }]
    return createOpenAI({ apiKey: 'k', fetch: json({ id: 'r', created_at: 1, model: 'gpt-6-sol', output, usage }) }).responses('gpt-6-sol')
  },
  google: (usageMetadata) => {
    const candidates = [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }]
    return createGoogle({ apiKey: 'k', fetch: json({ candidates, usageMetadata }) }).languageModel('gemini-3.8-flash')
  },
  compatible: (usage) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
    const fetch = json({ id: 'c', created: 1, model: 'qwen3', choices, usage })
    return createOpenAICompatible({ name: 'compatible', baseURL: 'http://127.0.0.1:1/v1', fetch }).chatModel('qwen3')
  },
}

const answering = (frames: readonly unknown[]) => async () =>
  new Response(frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

const models: Readonly<Record<string, (usage: object | undefined) => SdkModel>> = {
  anthropic: (usage) => {
    const { output_tokens, output_tokens_details, ...input } = usage as { output_tokens: number; output_tokens_details?: object }
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-5-5', content: [], stop_reason: null }
    const ended = { output_tokens, ...(output_tokens_details && { output_tokens_details }) }
    return createAnthropic({
      apiKey: 'k',
      fetch: answering([
        { type: 'message_start', message: { ...message, usage: { ...input, output_tokens: 1 } } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: ended },
        { type: 'message_stop' },
      ]),
    }).languageModel('claude-sonnet-5-5')
  },
  openai: (usage) => {
    const response = { id: 'r', created_at: 1, model: 'gpt-6-sol' }
    return createOpenAI({
      apiKey: 'k',
      fetch: answering([
        { type: 'response.created', response },
        { type: 'response.completed', response: { ...response, usage } },
      ]),
    }).responses('gpt-6-sol')
  },
  google: (usageMetadata) =>
    createGoogle({
      apiKey: 'k',
      fetch: answering([{ candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }], usageMetadata }]),
    }).languageModel('gemini-3.8-flash'),
  compatible: (usage) => {
    const choices = [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
    return createOpenAICompatible({
      name: 'compatible',
      baseURL: 'http://127.0.0.1:1/v1',
      fetch: answering([{ id: 'c', created: 1, model: 'qwen3', choices }, ...(usage ? [{ choices: [], usage }] : []), '[DONE]']),
    }).chatModel('qwen3')
  },
}
