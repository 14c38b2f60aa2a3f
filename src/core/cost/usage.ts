import { roughTokens } from '../estimate/tokens.ts'
import type { ModelUsage } from '../model-event.ts'
import type { ResponseReceived, Usage } from '../timeline/change.ts'

/** The provider failed before it said anything. */
const failedBeforeOutput = ({ usage, raw, finish_reason }: ResponseReceived): boolean =>
  usage === undefined && raw === '' && finish_reason === 'error'

/** What one question to a model cost. */
export interface CallUsage {
  readonly usage: ModelUsage
  readonly model: string
  /** Nobody sent a bill. */
  readonly estimated: boolean
  /** It was asked again: nothing came of it. */
  readonly discarded: boolean
}

/** Everything that an answer cost: asking in vain, then the answer itself, unless that was free. */
export function callUsages(response: ResponseReceived): readonly CallUsage[] {
  const { retried = [], usage, prompt } = response
  const model = prompt?.model ?? ''
  const before = retried.map((attempt) => ({
    usage: fromRecord(attempt.usage),
    model: attempt.model ?? model,
    estimated: attempt.estimated === true,
    discarded: true,
  }))
  return failedBeforeOutput(response)
    ? before
    : [...before, { usage: usageOf(response), model, estimated: usage === undefined, discarded: false }]
}

/** A call without a bill, because it was broken off or nobody sent one, had a cost all the same: what was sent, and what had come back. */
function usageOf({ usage, raw, prompt }: ResponseReceived): ModelUsage {
  return usage ? fromRecord(usage) : estimatedUsage(prompt?.estimated_tokens ?? 0, raw)
}

export const estimatedUsage = (sent: number, raw: string): ModelUsage => ({
  uncached: sent,
  cacheRead: 0,
  cacheWrite: 0,
  output: roughTokens(raw),
  reasoning: 0,
})

function fromRecord({
  uncached,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  cache_write_long,
  output,
  reasoning = 0,
}: Usage): ModelUsage {
  return { uncached, cacheRead, cacheWrite, ...(cache_write_long !== undefined && { cacheWriteLong: cache_write_long }), output, reasoning }
}
