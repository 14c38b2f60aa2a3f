import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { isObject } from '../../core/json.ts'
import type { ModelUsage } from '../../core/model-event.ts'

/**
 * The provider's bill in buckets that do not overlap. On the wire they do: Anthropic counts cached tokens beside the input, OpenAI
 * and Google within it, Google counts thoughts beside the output and the others within it. Undefined when it sent no bill, or one that
 * can not be true: whoever reckons estimates then, and never takes it for nothing.
 */
export function parseUsage(
  { inputTokens, outputTokens, raw }: LanguageModelV4Usage,
  longWrites: readonly string[] | undefined,
  said: boolean,
): ModelUsage | undefined {
  const reported = [inputTokens.total, inputTokens.cacheRead, inputTokens.cacheWrite, outputTokens.total, outputTokens.reasoning]
  if (reported.some(isAbsurd) || isNothing(inputTokens.total ?? inputTokens.noCache)) return undefined
  if (said && isNothing(outputTokens.total)) return undefined
  const cacheRead = tokenCount(inputTokens.cacheRead)
  const cacheWrite = tokenCount(inputTokens.cacheWrite)
  const output = tokenCount(outputTokens.total)
  const cacheWriteLong = longWrites && Math.min(cacheWrite, tokenCount(fieldAt(raw, longWrites)))
  return {
    uncached: tokenCount(inputTokens.noCache ?? tokenCount(inputTokens.total) - cacheRead - cacheWrite),
    cacheRead,
    cacheWrite,
    ...(cacheWriteLong && { cacheWriteLong }),
    output,
    reasoning: Math.min(output, tokenCount(outputTokens.reasoning)),
  }
}

/** More than all that was ever written, in one call. */
const maxTokens = 1_000_000_000

const isAbsurd = (value: number | undefined) => value !== undefined && !(value >= 0 && value <= maxTokens)
const isNothing = (value: number | undefined) => value === undefined || value === 0

/** What a provider reports may be anything. */
const tokenCount = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0)

const fieldAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((inner: unknown, name) => (isObject(inner) ? inner[name] : undefined), value)
