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
  sseData,
  textPart,
  toolsText,
} from './provider-format.ts'

/** The API of vLLM, Ollama, LM Studio and llama.cpp: `POST /v1/chat/completions` with `stream: true`. */
export const compatibleFormat: ProviderFormat = {
  environment: (address, key) => ({
    OPENAI_COMPATIBLE_BASE_URL: `${address}/v1`,
    OPENAI_COMPATIBLE_API_KEY: key,
    OLLAMA_BASE_URL: `${address}/v1`,
  }),
  keyOf: bearerToken,

  parse(path, body) {
    if (path !== '/v1/chat/completions' || !isObject(body) || !Array.isArray(body.messages)) return undefined
    const [first, ...rest] = body.messages.map((message) => (isObject(message) ? message : {}))
    const system = first?.role === 'system' ? String(first.content) : ''
    const messages = system === '' ? body.messages : rest
    return { model: String(body.model), system: toolsText(body.tools) + system, parts: messages.flatMap(contentOf), cache: 'prefix' }
  },

  frames(reply, pieces, { model }, usage): Frames {
    const head = { id: 'chatcmpl-fake', object: 'chat.completion.chunk', created: 1_767_225_600, model }
    const chunk = (delta: object, finish_reason: string | null = null) =>
      sseData({ ...head, choices: [{ index: 0, delta, finish_reason }] })
    const prompt_tokens = usage.uncached + usage.cacheRead + usage.cacheWrite
    return {
      opening: [
        chunk({ role: 'assistant', content: '' }),
        ...(reply.reasoning === undefined ? [] : [chunk({ reasoning_content: reply.reasoning })]),
      ],
      pieces: [...pieces.map((content) => chunk({ content })), ...callDeltas(reply).map((delta) => chunk({ tool_calls: [delta] }))],
      closing: [
        chunk({}, finishReasons[reply.finish ?? (reply.calls ? 'calls' : 'stop')]),
        sseData({
          ...head,
          choices: [],
          usage: {
            prompt_tokens,
            completion_tokens: usage.output,
            total_tokens: prompt_tokens + usage.output,
            prompt_tokens_details: { cached_tokens: usage.cacheRead },
            completion_tokens_details: { reasoning_tokens: usage.reasoning },
          },
        }),
        'data: [DONE]\n\n',
      ],
    }
  },

  errorResponse: (kind, key, retryAfterMs): ErrorResponse => ({ ...errorResponses[kind](key), headers: retryAfter(retryAfterMs) }),
}

const finishReasons = {
  stop: 'stop',
  calls: 'tool_calls',
  malformed_call: 'stop',
  length: 'length',
  content_filter: 'content_filter',
} as const

/** The first delta of a call has its id and name. Each later delta has only a piece of the arguments. */
const callDeltas = ({ calls = [], chunks }: FakeReply): readonly object[] =>
  calls.flatMap((call, position) => {
    const index = call.index ?? position
    const id = callId(call, position)
    return [
      { index, ...(id !== null && { id }), type: 'function', function: { name: call.name, arguments: '' } },
      ...inputPieces(call, chunks).map((piece) => ({ index, function: { arguments: piece } })),
    ]
  })

function contentOf(message: Readonly<Record<string, unknown>>): readonly Part[] {
  if (typeof message.content === 'string') return [textPart(message.content, false)]
  return (Array.isArray(message.content) ? message.content : []).map((content) => {
    if (content.type === 'text') return textPart(String(content.text), false)
    const [head = '', bytes = ''] = String(content.image_url?.url ?? content.file?.file_data).split(',')
    return binaryPart(content.type === 'image_url' ? 'image' : 'document', head.replace(/^data:|;base64$/g, ''), bytes, false)
  })
}

const errorResponse = (status: number, type: string, message: string, code: string | number | null = null): ErrorResponse => ({
  status,
  body: { error: { message, type, param: null, code } },
})
const errorResponses: { readonly [K in FakeErrorKind]: (key: string) => ErrorResponse } = {
  authentication: (key) => errorResponse(401, 'AuthenticationError', `Unauthorized: ${key}`, 401),
  content_filter: () =>
    errorResponse(400, 'BadRequestError', 'The response was filtered due to content management policy.', 'content_filter'),
  no_tools: () => errorResponse(400, 'api_error', 'registry.ollama.ai/library/gemma:latest does not support tools'),
  overflow: () =>
    errorResponse(
      400,
      'BadRequestError',
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages.",
      400,
    ),
  overloaded: () => errorResponse(503, 'ServiceUnavailable', 'The model is loading or overloaded', 503),
  rate_limited: () => errorResponse(429, 'RateLimitError', 'Too many requests', 429),
  server_error: () => errorResponse(500, 'InternalServerError', 'EngineCore encountered an issue', 500),
}
