import { roughTokens } from '../estimate/tokens.ts'
import type { ModelUsage } from '../model-event.ts'
import type { ResponseReceived } from '../timeline/change.ts'
import type { Usage } from '../timeline/response-record.ts'

/** True when the provider failed before it sent any output. Providers do not bill such calls. */
const failedBeforeOutput = ({ usage, raw, finish_reason }: ResponseReceived): boolean =>
  usage === undefined && raw === '' && finish_reason === 'error'

/** The token usage of one request to a model. */
export interface CallUsage {
  readonly usage: ModelUsage
  readonly model: string
  /** True when the provider reported no usage and Daybook estimated it. */
  readonly estimated: boolean
  /** True when the output of this request was not used, because the request was sent again. */
  readonly discarded: boolean
}

/**
 * The usage of all requests that were sent for one response. Requests whose output was discarded come first, then the last request. If the
 * last request failed before any output, it is left out, because it was not billed.
 */
export function callUsages(response: ResponseReceived): readonly CallUsage[] {
  const { retried, usage, prompt } = response
  const model = prompt?.model ?? ''
  const calls: CallUsage[] = []
  for (const attempt of retried ?? []) {
    calls.push({
      usage: fromUsageRecord(attempt.usage),
      model: attempt.model ?? model,
      estimated: attempt.estimated === true,
      discarded: true,
    })
  }
  if (!failedBeforeOutput(response)) calls.push({ usage: usageOf(response), model, estimated: usage === undefined, discarded: false })
  return calls
}

/**
 * The usage that the provider reported for a response. If the provider reported no usage, for example because the call was aborted, the
 * usage is estimated.
 */
function usageOf({ usage, raw, prompt }: ResponseReceived): ModelUsage {
  return usage ? fromUsageRecord(usage) : estimatedUsage(prompt?.estimated_tokens ?? 0, raw)
}

/** Estimates the usage of a call. `sent` is the number of tokens in the prompt, and `raw` is the text that was received. */
export const estimatedUsage = (sent: number, raw: string): ModelUsage => ({
  uncached: sent,
  cacheRead: 0,
  cacheWrite: 0,
  output: roughTokens(raw),
  reasoning: 0,
})

/** Converts usage from the form in the journal to the form that model adapters report. */
export function fromUsageRecord({
  uncached,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  cache_write_long,
  output,
  reasoning = 0,
}: Usage): ModelUsage {
  return { uncached, cacheRead, cacheWrite, ...(cache_write_long !== undefined && { cacheWriteLong: cache_write_long }), output, reasoning }
}
