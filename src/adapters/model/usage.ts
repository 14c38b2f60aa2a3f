import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { isObject } from '../../core/json.ts'
import { MAX_CALL_TOKENS, type ModelUsage } from '../../core/model-event.ts'

/**
 * The token counts of a call. `uncached`, `cacheRead`, `cacheWrite` and `output` do not overlap. Undefined when the provider sent no counts
 * or impossible counts. Callers then estimate the tokens.
 */
export function parseUsage(
  reported: LanguageModelV4Usage | undefined,
  longWritesPath: readonly string[] | undefined,
  hasOutput: boolean,
): ModelUsage | undefined {
  const { inputTokens, outputTokens, raw } = withAllFields(reported)
  const { total, noCache } = inputTokens
  if ([total, inputTokens.cacheRead, inputTokens.cacheWrite, outputTokens.total, outputTokens.reasoning].some(isAbsurd)) return undefined
  // the SDK computes `noCache` as a difference, so it may be negative. A negative value is treated as 0
  if (isNothing(total ?? noCache) || !Number.isFinite(noCache ?? 0)) return undefined
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

/** The usage with empty objects in place of missing fields. Some packages leave out fields that the type requires. */
function withAllFields(reported: Partial<LanguageModelV4Usage> | undefined) {
  const { inputTokens, outputTokens, raw } = reported ?? {}
  const input: Partial<LanguageModelV4Usage['inputTokens']> = inputTokens ?? {}
  const output: Partial<LanguageModelV4Usage['outputTokens']> = outputTokens ?? {}
  return { inputTokens: input, outputTokens: output, raw }
}

const isAbsurd = (value: unknown) =>
  (value ?? undefined) !== undefined && !(typeof value === 'number' && value >= 0 && value <= MAX_CALL_TOKENS)
const isNothing = (value: unknown) => (value ?? 0) === 0

/** The value rounded to a whole number, at least 0. A value that is not a number gives 0. */
const tokenCount = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0)

const fieldAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((inner: unknown, name) => (isObject(inner) ? inner[name] : undefined), value)
