import { isObject } from '../../core/json.ts'
import type { Part } from '../../core/render/types.ts'
import {
  binaryPart,
  type ErrorResponse,
  type FakeErrorKind,
  type FakeReply,
  type Frames,
  headerOf,
  inputPieces,
  type ProviderFormat,
  retryAfter,
  sseEvent,
  textPart,
  toolsText,
} from './provider-format.ts'

/** The API of Anthropic: `POST /v1/messages` with `stream: true`. The input tokens that it reports do not include cached tokens. */
export const anthropicFormat: ProviderFormat = {
  environment: (address, key) => ({ ANTHROPIC_BASE_URL: `${address}/v1`, ANTHROPIC_API_KEY: key }),
  keyOf: (headers) => headerOf(headers, 'x-api-key'),

  parse(path, body) {
    if (path !== '/v1/messages' || !isObject(body)) return undefined
    const system = list(body.system)
    const content = list(body.messages).flatMap((message) => (isObject(message) ? list(message.content) : []))
    return {
      model: String(body.model),
      system: toolsText(body.tools) + system.map((block) => (isObject(block) ? String(block.text) : '')).join(''),
      parts: content.map(partOf),
      cache: 'marks',
      long: [...system, ...content].some((block) => isObject(block) && isObject(block.cache_control) && block.cache_control.ttl === '1h'),
    }
  },

  frames: (reply, pieces, request, usage): Frames => ({
    opening: [
      sseEvent({
        type: 'message_start',
        message: {
          id: 'msg_fake',
          type: 'message',
          role: 'assistant',
          model: request.model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: usage.uncached,
            cache_creation_input_tokens: usage.cacheWrite,
            cache_read_input_tokens: usage.cacheRead,
            cache_creation: {
              ephemeral_5m_input_tokens: usage.cacheWrite - usage.cacheWriteLong,
              ephemeral_1h_input_tokens: usage.cacheWriteLong,
            },
            output_tokens: 1,
          },
        },
      } as { type: string }),
      sseEvent({ type: 'ping' }),
      ...(reply.reasoning === undefined ? [] : thinking(reply.reasoning)),
      ...(hasText(reply) ? [block('content_block_start', textIndex(reply), { content_block: { type: 'text', text: '' } })] : []),
    ],
    pieces: [
      ...pieces.map((piece) => block('content_block_delta', textIndex(reply), { delta: { type: 'text_delta', text: piece } })),
      ...calls(reply),
    ],
    closing: [
      ...(hasText(reply) && !reply.calls ? [block('content_block_stop', textIndex(reply), {})] : []),
      sseEvent({
        type: 'message_delta',
        delta: { stop_reason: stopReasons[reply.finish ?? (reply.calls ? 'calls' : 'stop')], stop_sequence: null },
        usage: { output_tokens: usage.output, output_tokens_details: { thinking_tokens: usage.reasoning } },
      } as { type: string }),
      sseEvent({ type: 'message_stop' }),
    ],
  }),

  errorResponse: (kind, key, retryAfterMs): ErrorResponse => ({
    ...errorResponses[kind](key),
    headers: { 'request-id': 'req_fake', ...retryAfter(retryAfterMs) },
  }),
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textIndex = ({ reasoning }: FakeReply) => (reasoning === undefined ? 0 : 1)
const hasText = ({ text = '', calls: called }: FakeReply) => text !== '' || !called
const block = (type: string, index: number, rest: object) => sseEvent({ type, index, ...rest } as { type: string })
const thinking = (text: string) => [
  block('content_block_start', 0, { content_block: { type: 'thinking', thinking: '', signature: '' } }),
  block('content_block_delta', 0, { delta: { type: 'thinking_delta', thinking: text } }),
  block('content_block_delta', 0, { delta: { type: 'signature_delta', signature: 'c2ln' } }),
  block('content_block_stop', 0, {}),
]

/** The events of the calls. If there is a text, its block ends before them. */
function calls(reply: FakeReply): readonly string[] {
  const first = textIndex(reply) + (hasText(reply) ? 1 : 0)
  const ended = reply.calls && hasText(reply) ? [block('content_block_stop', textIndex(reply), {})] : []
  return [
    ...ended,
    ...(reply.calls ?? []).flatMap((call, index) => [
      block('content_block_start', first + index, {
        content_block: { type: 'tool_use', id: call.id ?? `toolu_${index}`, name: call.name, input: {} },
      }),
      ...inputPieces(call, reply.chunks).map((partial_json) =>
        block('content_block_delta', first + index, { delta: { type: 'input_json_delta', partial_json } }),
      ),
      block('content_block_stop', first + index, {}),
    ]),
  ]
}

function partOf(value: unknown): Part {
  const content = isObject(value) ? value : {}
  const marked = content.cache_control !== undefined
  const source = isObject(content.source) ? content.source : undefined
  if (!source) return textPart(String(content.text), marked)
  return binaryPart(content.type === 'image' ? 'image' : 'document', String(source.media_type), String(source.data), marked)
}

const stopReasons = {
  stop: 'end_turn',
  calls: 'tool_use',
  malformed_call: 'end_turn',
  length: 'max_tokens',
  content_filter: 'refusal',
} as const

const errorResponse = (status: number, type: string, message: string): ErrorResponse => ({
  status,
  body: { type: 'error', error: { type, message } },
})
/**
 * The errors of the API. In contrast to the real API, the authentication error contains the key, so that tests can check that Daybook
 * removes keys from messages.
 */
const errorResponses: { readonly [K in FakeErrorKind]: (key: string) => ErrorResponse } = {
  authentication: (key) => errorResponse(401, 'authentication_error', `invalid x-api-key: ${key}`),
  content_filter: () => errorResponse(400, 'invalid_request_error', 'Output blocked by content filtering policy'),
  no_tools: () => errorResponse(400, 'invalid_request_error', 'This model does not support tools'),
  overflow: () => errorResponse(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
  overloaded: () => errorResponse(529, 'overloaded_error', 'Overloaded'),
  rate_limited: () => errorResponse(429, 'rate_limit_error', 'This request would exceed your rate limit of 50 requests per minute'),
  server_error: () => errorResponse(500, 'api_error', 'Internal server error'),
}
