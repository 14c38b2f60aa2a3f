import { type Attributes, type Span, SpanStatusCode } from '@opentelemetry/api'
import type { ModelUsage } from '../../core/model-event.ts'
import { parseConversationKey } from '../../core/scope.ts'

// The names `gen_ai.*` and `error.type` are those of OpenTelemetry's semantic conventions for generative AI. Names without a convention
// begin with `daybook.`. No attribute has text of users, models or tools.

/** The attributes of every span of a conversation. */
export function conversationAttributes(conversationId: string): Attributes {
  const { scope, name } = parseConversationKey(conversationId)
  return { 'gen_ai.conversation.id': name, 'daybook.tenant': scope.tenant, 'daybook.project': scope.project }
}

/** The provider and the model in a name such as `anthropic/claude-sonnet-5-5`. A name without a provider is used for both. */
export function modelAttributes(name: string): Attributes {
  const slash = name.indexOf('/')
  const provider = slash < 0 ? name : name.slice(0, slash)
  return {
    'gen_ai.provider.name': wellKnownProviders[provider] ?? provider,
    'gen_ai.request.model': slash < 0 ? name : name.slice(slash + 1),
  }
}

/** The names of providers in the conventions, if they differ from the names in Daybook. */
const wellKnownProviders: Readonly<Record<string, string>> = { google: 'gcp.gemini' }

/**
 * The tokens of a call. According to the conventions, `input_tokens` includes the tokens that were read from the cache or written to it.
 */
export function usageAttributes({ uncached, cacheRead, cacheWrite, output, reasoning }: ModelUsage): Attributes {
  return {
    'gen_ai.usage.input_tokens': uncached + cacheRead + cacheWrite,
    'gen_ai.usage.cache_read.input_tokens': cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': cacheWrite,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.reasoning.output_tokens': reasoning,
  }
}

export const addUsage = (a: ModelUsage, b: ModelUsage): ModelUsage => ({
  uncached: a.uncached + b.uncached,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  output: a.output + b.output,
  reasoning: a.reasoning + b.reasoning,
})

export const noUsage: ModelUsage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** Marks a span as failed. The message of the error is left out, because it may contain text of the conversation. */
export function fail(span: Span, errorType: string): void {
  span.setAttribute('error.type', errorType)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
