import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { ask, requestOf, text } from '../../../test/support/models/provider-models.ts'
import { modelFrom } from './model-from.ts'
import { redact } from './redact.ts'
import { type CallInfo, retryAfterSeconds, toServiceError } from './service-error.ts'

const info: CallInfo = {
  provider: 'acme',
  model: 'rocket-1',
  secrets: ['hunter2-hunter2'],
  now: () => Date.parse('2026-11-15T00:00:00Z'),
}
const errorOf = (error: unknown) => toServiceError(error, 'before_output', info)
const answer = (statusCode: number, message: string, rest: object = {}) => ({ name: 'AI_APICallError', message, statusCode, ...rest })
const network = (code: string) => ({
  name: 'AI_APICallError',
  message: 'Cannot connect to API',
  cause: Object.assign(new Error('x'), { code }),
})

describe('the kind of an error', () => {
  it.each<[string, unknown, object]>([
    ['a wrong key', answer(401, 'no'), { kind: 'authentication', retryable: false, http_status: 401 }],
    ['a missing permission', answer(403, 'no'), { kind: 'authentication', retryable: false }],
    ['a missing key', { name: 'AI_LoadAPIKeyError', message: 'x' }, { kind: 'authentication', retryable: false }],
    [
      'an exhausted quota',
      answer(429, 'quota', { data: { error: { code: 'insufficient_quota', message: 'x' } } }),
      { kind: 'rate_limited', retryable: false },
    ],
    ['a limit of tokens per minute', answer(429, 'too many tokens per minute'), { kind: 'rate_limited', retryable: true }],
    ['a body that is too large', answer(413, 'Request too large'), { kind: 'context_overflow', retryable: false }],
    [
      'a full context in llama.cpp',
      answer(400, 'x', {
        data: { error: { type: 'exceed_context_size_error', message: 'the request exceeds the available context size' } },
      }),
      { kind: 'context_overflow' },
    ],
    [
      'a tool call that Groq can not read',
      answer(400, 'x', { data: { error: { code: 'tool_use_failed', message: 'Failed to call a function. Please adjust your prompt.' } } }),
      { kind: 'malformed_response', retryable: true },
    ],
    ['a gateway timeout', answer(504, 'x'), { kind: 'timeout', retryable: true }],
    ['a failing gateway', answer(502, '<html>Bad gateway</html>'), { kind: 'unknown', retryable: true }],
    ['an unknown model', answer(404, 'model: rocket-9'), { kind: 'invalid_request', retryable: false }],
    ['a refused connection', network('ECONNREFUSED'), { kind: 'connection', retryable: true, code: 'ECONNREFUSED' }],
    ['an unknown host name', network('ENOTFOUND'), { kind: 'connection', retryable: true }],
    ['response headers that come too late', network('UND_ERR_HEADERS_TIMEOUT'), { kind: 'timeout', retryable: true }],
    [
      'an unparsable event whose text mentions limits',
      { name: 'AI_JSONParseError', message: 'JSON parsing failed: Text: the maximum context is overloaded' },
      { kind: 'malformed_response', message: 'The provider sent something that is not in its own format.' },
    ],
    [
      'a first event that the AI SDK can not read',
      new Error('Expected a normalized Anthropic stream error'),
      { kind: 'malformed_response', retryable: true },
    ],
    ['a timeout reported in the stream', { type: 'timeout_error', message: 'Request timed out' }, { kind: 'timeout', retryable: true }],
    ['a status number in the stream', { code: 429, type: 'rate', message: 'Too many' }, { kind: 'rate_limited', retryable: true }],
    ['a server error in the stream', { code: 500, type: 'InternalServerError', message: 'x' }, { kind: 'unknown', retryable: true }],
    ['a status as a string', { code: '503', message: 'loading' }, { kind: 'overloaded', retryable: true }],
    ['a code that is not a status', { code: 7, message: 'x' }, { kind: 'unknown', retryable: false }],
    [
      'an unreadable body with status 200',
      answer(200, 'Failed to process successful response'),
      { kind: 'malformed_response', retryable: true },
    ],
    [
      'a part that the SDK can not send',
      { name: 'AI_UnsupportedFunctionalityError', message: 'x' },
      { kind: 'invalid_request', retryable: false },
    ],
    ['an unknown error', new RangeError('x'), { kind: 'unknown', retryable: false, error_type: 'RangeError' }],
    ['undefined', undefined, { kind: 'unknown', retryable: false }],
  ])('%s', (_, error, expected) => {
    expect(errorOf(error)).toMatchObject(expected)
  })
})

describe('errors inside a stream with status 200', () => {
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

  it('openai: a failure after some text, with the tokens counted so far', async () => {
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

  it('waits only briefly for token counts when a provider leaves the connection open after an error', async () => {
    const failed = {
      type: 'error',
      sequence_number: 4,
      error: { type: 'server_error', code: 'server_error', message: 'failed', param: null },
    }
    const bytes = Buffer.from([...begun, failed].map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''))
    const body = new ReadableStream({ start: (controller) => controller.enqueue(bytes) })
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const waits: number[] = []
    const startTimer = (milliseconds: number, fire: () => void) => {
      waits.push(milliseconds)
      if (milliseconds <= 1_000) queueMicrotask(fire)
      return () => {}
    }
    const events = await ask(modelFrom(createOpenAI({ apiKey: 'k', fetch }).responses('gpt-6-sol'), { startTimer }), requestOf([text('x')]))
    expect(events).toMatchObject([{ text: 'Hi' }, { type: 'error', error: { stage: 'after_output' } }])
    expect(events.at(-1)).not.toHaveProperty('usage')
    expect(waits.at(-1)).toBe(1_000)
  })

  it('openai: a context overflow, a rate limit', async () => {
    const failing = async (code: string) => {
      const failed = { type: 'response.failed', sequence_number: 1, response: { ...response, error: { code, message: `failed: ${code}` } } }
      const settings = sse({ type: 'response.created', response }, failed)
      return ask(modelFrom(createOpenAI(settings).responses('gpt-6-sol')), requestOf([text('x')]))
    }
    expect(await failing('context_length_exceeded')).toMatchObject([{ error: { kind: 'context_overflow' } }])
    expect(await failing('rate_limit_exceeded')).toMatchObject([{ error: { kind: 'rate_limited', retryable: true } }])
  })

  it('a chat completions server: its engine fails', async () => {
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

describe('the message of an error', () => {
  const secrets = ['hunter2-hunter2', 'sk-ant-REDACTED', 'Bearer abc.def-ghi', 'AIzaSyA1234567890abcdefghijklmnopq']

  it.each(secrets)('never contains %s, wherever the provider puts it', (secret) => {
    const error = answer(400, `bad request by ${secret}: see https://me:${secret}@host/v1?key=${secret}`, {
      url: `https://host/v1?key=${secret}`,
      requestBodyValues: { secret },
      responseHeaders: { 'x-echo': secret },
      responseBody: `{"error":{"message":"${secret} is wrong","type":"${secret}","code":"${secret}"}}`,
    })
    expect(JSON.stringify(errorOf(error))).not.toContain(secret)
  })

  it('is one short line', () => {
    expect(redact(`a\n${'b'.repeat(500)}`, [])).toBe(`a ${'b'.repeat(197)}…`)
  })
})

describe('the time to wait before a retry', () => {
  const now = Date.parse('2026-11-15T00:00:00Z')
  it.each<[string, Record<string, string> | undefined, unknown, number | undefined]>([
    ['given in seconds', { 'retry-after': '7' }, undefined, 7],
    ['given in milliseconds', { 'retry-after': '1', 'retry-after-ms': '250' }, undefined, 0.25],
    ['given as a date', { 'retry-after': 'Sun, 15 Nov 2026 00:00:30 GMT' }, undefined, 30],
    ['given as a date in the past', { 'retry-after': 'Sat, 14 Nov 2026 00:00:30 GMT' }, undefined, 0],
    ['not a number', { 'retry-after': 'soon' }, undefined, undefined],
    ['negative', { 'retry-after': '-5' }, undefined, undefined],
    [
      'given in the body by Google',
      undefined,
      { error: { details: [{}, { '@type': 'x/google.rpc.RetryInfo', retryDelay: '37.5s' }] } },
      37.5,
    ],
    ['not given', {}, { error: { details: 'x' } }, undefined],
  ])('%s', (_, headers, body, seconds) => {
    expect(retryAfterSeconds(headers, body, now)).toBe(seconds)
  })
})
