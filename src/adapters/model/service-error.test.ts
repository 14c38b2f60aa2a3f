import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { ask, requestOf, text } from '../../../test/support/models/provider-models.ts'
import { modelFrom } from './model-from.ts'
import { redact } from './redact.ts'
import { type CallInfo, retryAfterSeconds, toServiceError } from './service-error.ts'

const caller: CallInfo = {
  provider: 'acme',
  model: 'rocket-1',
  secrets: ['hunter2-hunter2'],
  now: () => Date.parse('2026-11-15T00:00:00Z'),
}
const told = (error: unknown) => toServiceError(error, 'before_output', caller)
const answer = (statusCode: number, message: string, rest: object = {}) => ({ name: 'AI_APICallError', message, statusCode, ...rest })
const network = (code: string) => ({
  name: 'AI_APICallError',
  message: 'Cannot connect to API',
  cause: Object.assign(new Error('x'), { code }),
})

describe('what an error means', () => {
  it.each<[string, unknown, object]>([
    ['a key', answer(401, 'no'), { kind: 'authentication', retryable: false, http_status: 401 }],
    ['a right', answer(403, 'no'), { kind: 'authentication', retryable: false }],
    ['a missing key', { name: 'AI_LoadAPIKeyError', message: 'x' }, { kind: 'authentication', retryable: false }],
    [
      'money',
      answer(429, 'quota', { data: { error: { code: 'insufficient_quota', message: 'x' } } }),
      { kind: 'rate_limited', retryable: false },
    ],
    ['a limit of tokens per minute', answer(429, 'too many tokens per minute'), { kind: 'rate_limited', retryable: true }],
    ['a large body', answer(413, 'Request too large'), { kind: 'context_overflow', retryable: false }],
    [
      'a full context of llama.cpp',
      answer(400, 'x', {
        data: { error: { type: 'exceed_context_size_error', message: 'the request exceeds the available context size' } },
      }),
      { kind: 'context_overflow' },
    ],
    ['a gateway that waits', answer(504, 'x'), { kind: 'timeout', retryable: true }],
    ['a gateway that fails', answer(502, '<html>Bad gateway</html>'), { kind: 'unknown', retryable: true }],
    ['no such model', answer(404, 'model: rocket-9'), { kind: 'invalid_request', retryable: false }],
    ['a refused connection', network('ECONNREFUSED'), { kind: 'connection', retryable: true, code: 'ECONNREFUSED' }],
    ['a name that nobody knows', network('ENOTFOUND'), { kind: 'connection', retryable: true }],
    ['no headers in time', network('UND_ERR_HEADERS_TIMEOUT'), { kind: 'timeout', retryable: true }],
    [
      'a piece of the stream that talks of limits',
      { name: 'AI_JSONParseError', message: 'JSON parsing failed: Text: the maximum context is overloaded' },
      { kind: 'malformed_response', message: 'The provider sent something that is not in its own format.' },
    ],
    [
      'a first word that the AI SDK can not read',
      new Error('Expected a normalized Anthropic stream error'),
      { kind: 'malformed_response', retryable: true },
    ],
    ['a stream that says it took too long', { type: 'timeout_error', message: 'Request timed out' }, { kind: 'timeout', retryable: true }],
    ['a status that stands in the stream', { code: 429, type: 'rate', message: 'Too many' }, { kind: 'rate_limited', retryable: true }],
    ['a server that dies in the stream', { code: 500, type: 'InternalServerError', message: 'x' }, { kind: 'unknown', retryable: true }],
    ['a status in words', { code: '503', message: 'loading' }, { kind: 'overloaded', retryable: true }],
    ['a number that is no status', { code: 7, message: 'x' }, { kind: 'unknown', retryable: false }],
    ['something unreadable', answer(200, 'Failed to process successful response'), { kind: 'malformed_response', retryable: true }],
    [
      'a part that can not be sent',
      { name: 'AI_UnsupportedFunctionalityError', message: 'x' },
      { kind: 'invalid_request', retryable: false },
    ],
    ['nothing we know', new RangeError('x'), { kind: 'unknown', retryable: false, error_type: 'RangeError' }],
    ['no error at all', undefined, { kind: 'unknown', retryable: false }],
  ])('%s', (_, error, expected) => {
    expect(told(error)).toMatchObject(expected)
  })
})

describe('errors inside a stream that began well', () => {
  const sse = (...frames: readonly object[]) => {
    const body = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')
    return { apiKey: 'k', fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }) }
  }
  const response = { id: 'r', created_at: 1, model: 'm' }

  it('anthropic: overloaded', async () => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const started = { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage } }
    const settings = sse(started, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
    const events = await ask(modelFrom(createAnthropic(settings).languageModel('claude-sonnet-5-5')), requestOf([text('x')]))
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'overloaded', retryable: true } }])
  })

  const created = { type: 'response.created', response }
  const words = { type: 'response.output_text.delta', item_id: 'x', output_index: 0, content_index: 0, delta: 'Hi', logprobs: [] }
  const item = { type: 'message', id: 'x', role: 'assistant', status: 'in_progress', content: [] }
  const begun = [created, { type: 'response.output_item.added', output_index: 0, item }, words]

  it('openai: in the middle of its words, and it has counted what it read and said until then', async () => {
    const error = { code: 'server_error', message: 'failed' }
    const failed = {
      type: 'response.failed',
      sequence_number: 4,
      response: { ...response, error, usage: { input_tokens: 70, output_tokens: 5 } },
    }
    const events = await ask(modelFrom(createOpenAI(sse(...begun, failed)).responses('gpt-6-sol')), requestOf([text('x')]))
    expect(events).toMatchObject([
      { text: 'Hi' },
      { type: 'error', error: { retryable: true, stage: 'after_output' }, usage: { uncached: 70, output: 5 } },
    ])
  })

  it('a provider that has failed and leaves the line open is not waited for', async () => {
    const failed = {
      type: 'error',
      sequence_number: 4,
      error: { type: 'server_error', code: 'server_error', message: 'failed', param: null },
    }
    const bytes = Buffer.from([...begun, failed].map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''))
    const body = new ReadableStream({ start: (controller) => controller.enqueue(bytes) })
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const waits: number[] = []
    const alarm = (milliseconds: number, ring: () => void) => {
      waits.push(milliseconds)
      if (milliseconds <= 1_000) ring()
      return () => {}
    }
    const events = await ask(modelFrom(createOpenAI({ apiKey: 'k', fetch }).responses('gpt-6-sol'), { alarm }), requestOf([text('x')]))
    expect(events).toMatchObject([{ text: 'Hi' }, { type: 'error', error: { stage: 'after_output' } }])
    expect(events.at(-1)).not.toHaveProperty('usage')
    expect(waits.at(-1)).toBe(1_000)
  })

  it('openai: too long, too often', async () => {
    const failing = async (code: string) => {
      const failed = { type: 'response.failed', sequence_number: 1, response: { ...response, error: { code, message: `failed: ${code}` } } }
      const settings = sse({ type: 'response.created', response }, failed)
      return ask(modelFrom(createOpenAI(settings).responses('gpt-6-sol')), requestOf([text('x')]))
    }
    expect(await failing('context_length_exceeded')).toMatchObject([{ error: { kind: 'context_overflow' } }])
    expect(await failing('rate_limit_exceeded')).toMatchObject([{ error: { kind: 'rate_limited', retryable: true } }])
  })

  it('a server of chat completions: its engine dies', async () => {
    const chunk = { id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] }
    const settings = sse(chunk, { error: { message: 'EngineCore encountered an issue', type: 'InternalServerError', code: 500 } })
    const model = createOpenAICompatible({ name: 'compatible', baseURL: 'http://127.0.0.1:1/v1', ...settings }).chatModel('qwen3')
    expect(await ask(modelFrom(model), requestOf([text('x')]))).toMatchObject([
      { text: 'Hi' },
      { type: 'error', error: { kind: 'unknown', retryable: true, stage: 'after_output' } },
    ])
  })

  it('google: unavailable', async () => {
    const settings = sse({ error: { code: 503, status: 'UNAVAILABLE', message: 'The service is currently unavailable.' } })
    const events = await ask(modelFrom(createGoogle(settings).languageModel('gemini-3.8-flash')), requestOf([text('x')]))
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'overloaded', retryable: true } }])
  })
})

describe('what an error does not say', () => {
  const secrets = ['hunter2-hunter2', 'sk-ant-REDACTED', 'Bearer abc.def-ghi', 'AIzaSyA1234567890abcdefghijklmnopq']

  it.each(secrets)('%s, wherever the provider puts it', (secret) => {
    const error = answer(400, `bad request by ${secret}: see https://me:${secret}@host/v1?key=${secret}`, {
      url: `https://host/v1?key=${secret}`,
      requestBodyValues: { secret },
      responseHeaders: { 'x-echo': secret },
      responseBody: `{"error":{"message":"${secret} is wrong","type":"${secret}","code":"${secret}"}}`,
    })
    expect(JSON.stringify(told(error))).not.toContain(secret)
  })

  it('is cut to a line', () => {
    expect(redact(`a\n${'b'.repeat(500)}`, [])).toBe(`a ${'b'.repeat(197)}…`)
  })
})

describe('when a provider may be asked again', () => {
  const now = Date.parse('2026-11-15T00:00:00Z')
  it.each<[string, Record<string, string> | undefined, unknown, number | undefined]>([
    ['in seconds', { 'retry-after': '7' }, undefined, 7],
    ['in milliseconds', { 'retry-after': '1', 'retry-after-ms': '250' }, undefined, 0.25],
    ['at a time', { 'retry-after': 'Sun, 15 Nov 2026 00:00:30 GMT' }, undefined, 30],
    ['at a time that is over', { 'retry-after': 'Sat, 14 Nov 2026 00:00:30 GMT' }, undefined, 0],
    ['in words', { 'retry-after': 'soon' }, undefined, undefined],
    ['never', { 'retry-after': '-5' }, undefined, undefined],
    ['in a note', undefined, { error: { details: [{}, { '@type': 'x/google.rpc.RetryInfo', retryDelay: '37.5s' }] } }, 37.5],
    ['not said', {}, { error: { details: 'x' } }, undefined],
  ])('%s', (_, headers, body, seconds) => {
    expect(retryAfterSeconds(headers, body, now)).toBe(seconds)
  })
})
