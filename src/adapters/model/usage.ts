import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { isObject } from '../../core/json.ts'
import type { ModelUsage } from '../../core/model-event.ts'

/**
 * The token counts of a call: `uncached`, `cacheRead`, `cacheWrite` and `output` do not overlap. Undefined when the provider sent no counts
 * or impossible ones. Then callers estimate the tokens and do not assume zero.
 */
export function parseUsage(
  { inputTokens, outputTokens, raw }: LanguageModelV4Usage,
  longWritesPath: readonly string[] | undefined,
  hasOutput: boolean,
): ModelUsage | undefined {
  const reported = [inputTokens.total, inputTokens.cacheRead, inputTokens.cacheWrite, outputTokens.total, outputTokens.reasoning]
  if (reported.some(isAbsurd) || isNothing(inputTokens.total ?? inputTokens.noCache)) return undefined
  if (hasOutput && isNothing(outputTokens.total)) return undefined
  const cacheRead = tokenCount(inputTokens.cacheRead)
  const cacheWrite = tokenCount(inputTokens.cacheWrite)
  const output = tokenCount(outputTokens.total)
  const cacheWriteLong = longWritesPath && Math.min(cacheWrite, tokenCount(fieldAt(raw, longWritesPath)))
  return {
    uncached: tokenCount(inputTokens.noCache ?? tokenCount(inputTokens.total) - cacheRead - cacheWrite),
    cacheRead,
    cacheWrite,
    ...(cacheWriteLong && { cacheWriteLong }),
    output,
    reasoning: Math.min(output, tokenCount(outputTokens.reasoning)),
  }
}

/** The largest plausible token count of a call. A larger count is treated as an error of the provider. */
const maxTokens = 1_000_000_000

const isAbsurd = (value: number | undefined) => value !== undefined && !(value >= 0 && value <= maxTokens)
const isNothing = (value: number | undefined) => value === undefined || value === 0

/** The value as a whole number of at least 0; 0 when it is not a number. */
const tokenCount = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0)

const fieldAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((inner: unknown, name) => (isObject(inner) ? inner[name] : undefined), value)
