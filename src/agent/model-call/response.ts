import { type BlockOrigin, type Draft, noticeBlock, thinkingBlock } from '../../core/block/index.ts'
import { isContextOverflow } from '../../core/compaction/overflow.ts'
import { estimatedUsage } from '../../core/cost/cost.ts'
import type { FallbackReason } from '../../core/decision/fallback-answer.ts'
import { channelOf, type ParsedResponse } from '../../core/decision/response.ts'
import { truncate } from '../../core/decision/violations.ts'
import type { ModelUsage, ServiceError, ServiceErrorKind } from '../../core/model-event.ts'
import type { PromptRecord, ResponseReceived, RetriedAttempt, Usage } from '../../core/timeline/change.ts'
import type { ForcedEnd } from '../turn/finish.ts'
import type { DecisionPrompt } from '../turn/prompt.ts'
import type { ModelCall } from './call-model.ts'
import type { ModelResponse } from './read-response.ts'

/** What was heard, as the reader of decisions wants it. */
export function toDecisionResponse(heard: ModelResponse, maxTokens: number): ParsedResponse {
  return {
    channels: heard.channels,
    preamble: heard.preamble,
    finishReason: heard.finish?.reason ?? (heard.error ? 'error' : 'other'),
    maxTokens,
    raw: heard.raw,
    ...(heard.error && { errorType: heard.error.error_type }),
  }
}

/** What was heard, as it is entered: the model is never asked again for what stands in the journal. */
export function responseReceived(
  place: BlockOrigin,
  { response: heard, prompt, retried }: ModelCall,
  finishReason?: string,
): ResponseReceived {
  const usage = heard.usage && toUsageRecord(heard.usage)
  return {
    type: 'response.received',
    turn_id: place.turnId,
    ts: place.ts,
    iteration: place.iteration,
    call_id: place.callId,
    raw: heard.raw,
    finish_reason: finishReason ?? heard.finish?.reason ?? (heard.error ? 'error' : 'other'),
    ...(usage && { usage }),
    prompt: promptRecord(prompt, heard.finish?.modelName, usage !== undefined),
    ...(heard.error && { error: heard.error }),
    ...(retried.length > 0 && { retried }),
  }
}

/** What it cost to ask in vain; undefined when it cost nothing. */
export function retriedAttempt({ usage: billed, raw }: ModelResponse, { record, countTokens }: DecisionPrompt): RetriedAttempt | undefined {
  const model = record.model === undefined ? {} : { model: record.model }
  if (billed) return { usage: toUsageRecord(billed), ...model }
  return raw === '' ? undefined : { usage: toUsageRecord(estimatedUsage(countTokens(), raw)), ...model, estimated: true }
}

/** A call without a bill, because it was broken off or nobody sent one, was not free: its size is written down. */
function promptRecord(
  { record, tokens: known, countTokens }: DecisionPrompt,
  answeredBy: string | undefined,
  billed: boolean,
): PromptRecord {
  const tokens = billed ? known : countTokens()
  return { ...record, ...(answeredBy !== undefined && { model: answeredBy }), ...(tokens !== undefined && { estimated_tokens: tokens }) }
}

/** Tokens as they are written down. */
export const toUsageRecord = ({ uncached, cacheRead, cacheWrite, cacheWriteLong, output, reasoning }: ModelUsage): Usage => ({
  uncached,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  ...(cacheWriteLong !== undefined && { cache_write_long: cacheWriteLong }),
  output,
  reasoning,
})

/** What the model thought aloud: kept, and shown to people; never to the model. */
export function thinkingDrafts(place: BlockOrigin, heard: ModelResponse): readonly Draft[] {
  const said = channelOf(heard, 'thinking')?.instances
  const text = (said?.length === 1 ? said[0] : said?.join('\n'))?.trim()
  return text ? [thinkingBlock(place, text)] : []
}

const maxMessageLength = 300

/** What stands on record of a provider's failure that ended the turn, whatever the user reads of it. */
export function serviceErrorNotice(place: BlockOrigin, error: ServiceError): Draft {
  const { kind, error_type, http_status, code } = error
  return noticeBlock(place, {
    code: 'service_error',
    message: 'The model service failed, and the turn was ended. Nothing ran in this round.',
    kind,
    error_type,
    ...(http_status !== undefined && { http_status }),
    ...(code !== undefined && { provider_code: code }),
    provider_message: truncate(error.message, maxMessageLength),
  })
}

/** The provider has failed, and trying again did not help: what the user reads, and what stands on record. */
export function endForServiceError(place: BlockOrigin, asked: ModelCall, error: ServiceError, drafts: readonly Draft[] = []): ForcedEnd {
  const { thrown } = asked.response
  return {
    exitReason: 'error',
    ending: thrown === undefined ? endingOf(error) : 'error', // an adapter that throws is our fault, not the provider's
    error: thrown instanceof Error ? thrown : new Error(error.message, { cause: error }),
    changes: [responseReceived(place, asked)],
    drafts: [...drafts, serviceErrorNotice(place, error)],
  }
}

/** The prompt was too long, by the provider's own word. */
export const isOverflowError = (error: ServiceError): boolean =>
  error.kind === 'context_overflow' || isContextOverflow(error.message, error.code)

function endingOf(error: ServiceError): FallbackReason {
  if (isOverflowError(error)) return 'too_long'
  return endings[error.kind]
}

const endings: { readonly [K in ServiceErrorKind]: FallbackReason } = {
  aborted: 'provider_down',
  authentication: 'provider_key',
  connection: 'provider_down',
  content_filter: 'provider_filtered',
  context_overflow: 'too_long',
  invalid_request: 'provider_refused',
  malformed_response: 'provider_garbled',
  overloaded: 'provider_busy',
  rate_limited: 'provider_limit',
  timeout: 'provider_silent',
  unknown: 'provider_down',
}
