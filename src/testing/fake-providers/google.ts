import { isObject, parseJson } from '../../core/json.ts'
import type { Part } from '../../core/render/types.ts'
import {
  binaryPart,
  type ErrorResponse,
  type FakeErrorKind,
  type Frames,
  headerOf,
  type ProviderFormat,
  sseData,
  textPart,
  toolsText,
} from './provider-format.ts'

/**
 * The API of Google: `streamGenerateContent`. The prompt tokens that it reports include cached tokens. Its output tokens do not include
 * reasoning.
 */
export const googleFormat: ProviderFormat = {
  environment: (address, key) => ({ GOOGLE_GENERATIVE_AI_BASE_URL: `${address}/v1beta`, GOOGLE_GENERATIVE_AI_API_KEY: key }),
  keyOf: (headers) => headerOf(headers, 'x-goog-api-key'),

  parse(path, body) {
    const model = /^\/v1beta\/models\/([^:]+):streamGenerateContent\?alt=sse$/.exec(path)?.[1]
    if (model === undefined || !isObject(body)) return undefined
    const contents = Array.isArray(body.contents) ? body.contents : []
    return {
      model,
      system:
        toolsText(body.tools) +
        partsOf(body.systemInstruction)
          .map((part) => (part.type === 'text' ? part.text : ''))
          .join(''),
      parts: contents.flatMap(partsOf),
      cache: 'prefix',
    }
  },

  frames(reply, pieces, { model }, usage): Frames {
    const prompt = usage.uncached + usage.cacheRead + usage.cacheWrite
    const usageMetadata = {
      promptTokenCount: prompt,
      candidatesTokenCount: usage.output - usage.reasoning,
      totalTokenCount: prompt + usage.output,
      ...(usage.cacheRead > 0 && { cachedContentTokenCount: usage.cacheRead }),
      ...(usage.reasoning > 0 && { thoughtsTokenCount: usage.reasoning }),
    }
    const chunk = (part: object | undefined, rest: object = {}) =>
      sseData({
        candidates: [{ content: { role: 'model', parts: part ? [part] : [] }, index: 0, ...rest }],
        usageMetadata,
        modelVersion: model,
        responseId: 'fake',
      })
    return {
      opening: reply.reasoning === undefined ? [] : [chunk({ text: reply.reasoning, thought: true })],
      pieces: [
        ...pieces.map((piece) => chunk({ text: piece })),
        ...(reply.calls ?? []).map(({ name, input, id }) =>
          chunk({ functionCall: { name, args: typeof input === 'string' ? parseJson(input) : input, ...(id && { id }) } }),
        ),
      ],
      closing: [chunk(undefined, { finishReason: finishReasons[reply.finish ?? 'stop'] })],
    }
  },

  errorResponse: (kind, key, retryAfterMs): ErrorResponse => errorResponses[kind](key, retryAfterMs),
}

const finishReasons = { stop: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY', malformed_call: 'MALFORMED_FUNCTION_CALL' } as const

function partsOf(content: unknown): readonly Part[] {
  const parts = isObject(content) && Array.isArray(content.parts) ? content.parts : []
  return parts.map((part) => {
    const inline = part.inlineData
    if (!inline) return textPart(String(part.text), false)
    return binaryPart(inline.mimeType === 'application/pdf' ? 'document' : 'image', String(inline.mimeType), String(inline.data), false)
  })
}

const errorResponse = (code: number, status: string, message: string, details: readonly object[] = []): ErrorResponse => ({
  status: code,
  body: { error: { code, message, status, details } },
})
const errorResponses: { readonly [K in FakeErrorKind]: (key: string, retryAfterMs: number | undefined) => ErrorResponse } = {
  authentication: (key) =>
    errorResponse(400, 'INVALID_ARGUMENT', `API key not valid: ${key}. Please pass a valid API key.`, [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
    ]),
  content_filter: () => errorResponse(400, 'INVALID_ARGUMENT', 'The prompt was blocked by our content policy.'),
  no_tools: () => errorResponse(400, 'INVALID_ARGUMENT', 'This model does not support tools.'),
  overflow: () =>
    errorResponse(400, 'INVALID_ARGUMENT', 'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).'),
  overloaded: () => errorResponse(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  rate_limited: (_, retryAfterMs) =>
    errorResponse(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details.',
      retryAfterMs === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterMs / 1000}s` }],
    ),
  server_error: () => errorResponse(500, 'INTERNAL', 'An internal error has occurred.'),
}
