import { isObject } from '../../core/json.ts'
import type { Part } from '../../core/render/types.ts'
import {
  bearerToken,
  binaryPart,
  callId,
  type ErrorResponse,
  type FakeErrorKind,
  type FakeReply,
  type Frames,
  inputPieces,
  type ProviderFormat,
  retryAfter,
  sseEvent,
  textPart,
  toolsText,
} from './provider-format.ts'

/**
 * The API of OpenAI: `POST /v1/responses` with `stream: true`. The input tokens that it reports include tokens read from and written to the
 * cache.
 */
export const openaiFormat: ProviderFormat = {
  environment: (address, key) => ({ OPENAI_BASE_URL: `${address}/v1`, OPENAI_API_KEY: key }),
  keyOf: bearerToken,

  parse(path, body) {
    if (path !== '/v1/responses' || !isObject(body) || !Array.isArray(body.input)) return undefined
    const content = body.input.flatMap((item) => (isObject(item) ? contentOf(item) : []))
    const [first] = body.input
    const hasSystem = isObject(first) && (first.role === 'system' || first.role === 'developer')
    const [system] = hasSystem ? content : []
    const explicit = isObject(body.prompt_cache_options) && body.prompt_cache_options.mode === 'explicit'
    return {
      model: String(body.model),
      system: toolsText(body.tools) + (system?.type === 'text' ? system.text : ''),
      parts: hasSystem ? content.slice(1) : content,
      cache: explicit ? 'marks-without-look-back' : 'prefix',
    }
  },

  frames(reply, pieces, { model }, usage): Frames {
    const response = { id: 'resp_fake', object: 'response', created_at: 1_767_225_600, model, output: [] }
    const message = { type: 'message', id: 'msg_fake', role: 'assistant' }
    const ended = incomplete[reply.finish ?? 'stop'] === null ? 'completed' : 'incomplete'
    const hasText = (reply.text ?? '') !== '' || !reply.calls
    const at = { item_id: 'msg_fake', output_index: 1, content_index: 0 }
    return {
      opening: [
        frame('response.created', { response: { ...response, status: 'in_progress' } }),
        frame('response.in_progress', { response: { ...response, status: 'in_progress' } }),
        ...(reply.reasoning === undefined ? [] : reasoning(reply.reasoning)),
        ...(hasText
          ? [frame('response.output_item.added', { output_index: 1, item: { ...message, status: 'in_progress', content: [] } })]
          : []),
      ],
      pieces: [...pieces.map((delta) => frame('response.output_text.delta', { ...at, delta, logprobs: [] })), ...calls(reply)],
      closing: [
        ...(hasText
          ? [
              frame('response.output_item.done', {
                output_index: 1,
                item: { ...message, status: 'completed', content: [{ type: 'output_text', text: reply.text ?? '', annotations: [] }] },
              }),
            ]
          : []),
        frame(`response.${ended}`, {
          response: {
            ...response,
            status: ended,
            incomplete_details: ended === 'completed' ? null : { reason: incomplete[reply.finish ?? 'stop'] },
            usage: {
              input_tokens: usage.uncached + usage.cacheRead + usage.cacheWrite,
              input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
              output_tokens: usage.output,
              output_tokens_details: { reasoning_tokens: usage.reasoning },
              total_tokens: usage.uncached + usage.cacheRead + usage.cacheWrite + usage.output,
            },
          },
        }),
      ],
    }
  },

  errorResponse: (kind, key, retryAfterMs): ErrorResponse => ({ ...errorResponses[kind](key), headers: retryAfter(retryAfterMs) }),
}

const frame = (type: string, rest: object) => sseEvent({ type, sequence_number: 0, ...rest } as { type: string })
const incomplete = { stop: null, malformed_call: null, length: 'max_output_tokens', content_filter: 'content_filter' } as const

/** The items of the calls. They follow the item of the text. */
const calls = ({ calls: called = [], chunks }: FakeReply): readonly string[] =>
  called.flatMap((call, index) => {
    const at = { item_id: `fc_${index}`, output_index: 2 + index }
    const item = { type: 'function_call', id: at.item_id, call_id: callId(call, index) ?? '', name: call.name }
    const pieces = inputPieces(call, chunks)
    const done = { ...item, status: 'completed', arguments: pieces.join('') }
    return [
      frame('response.output_item.added', { output_index: at.output_index, item: { ...item, status: 'in_progress', arguments: '' } }),
      ...pieces.map((delta) => frame('response.function_call_arguments.delta', { ...at, delta })),
      frame('response.function_call_arguments.done', { ...at, arguments: done.arguments }),
      frame('response.output_item.done', { output_index: at.output_index, item: done }),
    ]
  })

const reasoning = (text: string) => [
  frame('response.output_item.added', { output_index: 0, item: { type: 'reasoning', id: 'rs_fake', summary: [] } }),
  frame('response.reasoning_summary_part.added', {
    item_id: 'rs_fake',
    output_index: 0,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  }),
  frame('response.reasoning_summary_text.delta', { item_id: 'rs_fake', output_index: 0, summary_index: 0, delta: text }),
  frame('response.output_item.done', {
    output_index: 0,
    item: { type: 'reasoning', id: 'rs_fake', summary: [{ type: 'summary_text', text }] },
  }),
]

function contentOf(item: Readonly<Record<string, unknown>>): readonly Part[] {
  if (typeof item.content === 'string') return [textPart(item.content, false)]
  return (Array.isArray(item.content) ? item.content : []).map((content) => {
    const marked = content.prompt_cache_breakpoint !== undefined
    if (content.type === 'input_text') return textPart(String(content.text), marked)
    const [head = '', bytes = ''] = String(content.image_url ?? content.file_data).split(',')
    return binaryPart(content.type === 'input_image' ? 'image' : 'document', head.replace(/^data:|;base64$/g, ''), bytes, marked)
  })
}

const errorResponse = (status: number, type: string, code: string | null, message: string): ErrorResponse => ({
  status,
  body: { error: { message, type, param: null, code } },
})
const errorResponses: { readonly [K in FakeErrorKind]: (key: string) => ErrorResponse } = {
  authentication: (key) => errorResponse(401, 'invalid_request_error', 'invalid_api_key', `Incorrect API key provided: ${key}.`),
  content_filter: () =>
    errorResponse(400, 'invalid_request_error', 'content_policy_violation', 'Your request was rejected as a result of our safety system.'),
  no_tools: () => errorResponse(400, 'invalid_request_error', null, 'This model does not support tools.'),
  overflow: () =>
    errorResponse(
      400,
      'invalid_request_error',
      'context_length_exceeded',
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    ),
  overloaded: () => errorResponse(503, 'server_error', null, 'The engine is currently overloaded, please try again later'),
  rate_limited: () => errorResponse(429, 'requests', 'rate_limit_exceeded', 'Rate limit reached for requests. Please try again in 1s.'),
  server_error: () => errorResponse(500, 'server_error', null, 'The server had an error while processing your request.'),
}
