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

/** A response in the form that `readDecision` takes. */
export function toDecisionResponse(response: ModelResponse, maxTokens: number): ParsedResponse {
  return {
    channels: response.channels,
    preamble: response.preamble,
    finishReason: response.finish?.reason ?? (response.error ? 'error' : 'other'),
    maxTokens,
    raw: response.raw,
    ...(response.error && { errorType: response.error.error_type }),
  }
}

/** The change that journals a response. Once it is committed, the model is never called again for this decision. */
export function responseReceived(origin: BlockOrigin, { response, prompt, retried }: ModelCall, finishReason?: string): ResponseReceived {
  const usage = response.usage && toUsageRecord(response.usage)
  return {
    type: 'response.received',
    turn_id: origin.turnId,
    ts: origin.ts,
    iteration: origin.iteration,
    call_id: origin.callId,
    raw: response.raw,
    finish_reason: finishReason ?? response.finish?.reason ?? (response.error ? 'error' : 'other'),
    ...(usage && { usage }),
    prompt: promptRecord(prompt, response.finish?.modelName, usage !== undefined),
    ...(response.error && { error: response.error }),
    ...(retried.length > 0 && { retried }),
  }
}

/** The cost of a failed attempt, estimated if the provider sent no usage. Undefined when the attempt cost nothing. */
export function retriedAttempt({ usage, raw }: ModelResponse, { record, countTokens }: DecisionPrompt): RetriedAttempt | undefined {
  const model = record.model === undefined ? {} : { model: record.model }
  if (usage) return { usage: toUsageRecord(usage), ...model }
  return raw === '' ? undefined : { usage: toUsageRecord(estimatedUsage(countTokens(), raw)), ...model, estimated: true }
}

/** The record of a prompt. It includes the size of the prompt when the provider sent no usage, so that the cost can be estimated. */
function promptRecord(
  { record, tokens: known, countTokens }: DecisionPrompt,
  modelName: string | undefined,
  hasUsage: boolean,
): PromptRecord {
  const tokens = hasUsage ? known : countTokens()
  return { ...record, ...(modelName !== undefined && { model: modelName }), ...(tokens !== undefined && { estimated_tokens: tokens }) }
}

/** Token usage in the form in which it is journaled. */
export const toUsageRecord = ({ uncached, cacheRead, cacheWrite, cacheWriteLong, output, reasoning }: ModelUsage): Usage => ({
  uncached,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  ...(cacheWriteLong !== undefined && { cache_write_long: cacheWriteLong }),
  output,
  reasoning,
})

/** The model's thinking, for users to read. It is not shown to the model again. */
export function thinkingDrafts(origin: BlockOrigin, response: ModelResponse): readonly Draft[] {
  const text = channelOf(response, 'thinking')?.instances.join('\n').trim()
  return text ? [thinkingBlock(origin, text)] : []
}

const maxMessageLength = 300

/** Records the provider error that ended the turn. The user reads a plain sentence instead. */
export function serviceErrorNotice(origin: BlockOrigin, error: ServiceError): Draft {
  const { kind, error_type, http_status, code } = error
  return noticeBlock(origin, {
    code: 'service_error',
    message: 'The model service failed, and the turn was ended. Nothing ran in this round.',
    kind,
    error_type,
    ...(http_status !== undefined && { http_status }),
    ...(code !== undefined && { provider_code: code }),
    provider_message: truncate(error.message, maxMessageLength),
  })
}

/** The end of a turn whose model call has failed for good. */
export function endForServiceError(origin: BlockOrigin, call: ModelCall, error: ServiceError, drafts: readonly Draft[] = []): ForcedEnd {
  const { thrown } = call.response
  return {
    exitReason: 'error',
    fallback: thrown === undefined ? endingOf(error) : 'error', // an adapter that throws is a bug, not a failure of the provider
    error: thrown instanceof Error ? thrown : new Error(error.message, { cause: error }),
    changes: [responseReceived(origin, call)],
    drafts: [...drafts, serviceErrorNotice(origin, error)],
  }
}

/** Whether the provider rejected the prompt as too long. Some providers say so only in the message. */
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
