import { type Draft, notice, type Place } from '../core/block/index.ts'
import { isContextOverflow } from '../core/compaction/overflow.ts'
import type { FallbackReason } from '../core/decision/fallback-answer.ts'
import { truncate } from '../core/decision/violations.ts'
import type { ServiceError, ServiceErrorKind } from '../core/model-event.ts'
import type { ModelCall } from './model-call/call-model.ts'
import { responseReceived } from './model-call/response.ts'
import type { ForcedEnd } from './turn/finish.ts'

const maxMessageLength = 300

/** What stands on record of a provider's failure that ended the turn, whatever the user reads of it. */
export function serviceErrorNotice(place: Place, error: ServiceError): Draft {
  const { kind, error_type, http_status, code } = error
  return notice(place, {
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
export function endForServiceError(place: Place, asked: ModelCall, error: ServiceError, drafts: readonly Draft[] = []): ForcedEnd {
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
