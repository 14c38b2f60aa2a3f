import { type BlockOrigin, type Draft, noticeBlock } from '../../core/block/index.ts'
import { isContextOverflow } from '../../core/compaction/overflow.ts'
import { ellipsize } from '../../core/cut.ts'
import type { FallbackReason } from '../../core/decision/fallback-answer.ts'
import type { ServiceError, ServiceErrorKind } from '../../core/model-event.ts'
import type { ForcedEnd } from '../turn/finish.ts'
import type { ModelCall } from './model-call.ts'

const maxMessageLength = 300

/** A notice with the details of the provider error that ended the turn. The answer for the user is a plain sentence. */
export function serviceErrorNotice(origin: BlockOrigin, error: ServiceError): Draft {
  const { kind, error_type, http_status, code } = error
  return noticeBlock(origin, {
    code: 'service_error',
    message: 'The model service failed, and the turn was ended. Nothing ran in this round.',
    kind,
    error_type,
    ...(http_status !== undefined && { http_status }),
    ...(code !== undefined && { provider_code: code }),
    provider_message: ellipsize(error.message, maxMessageLength),
  })
}

/** How a turn ends if its model call has failed and can not be retried. */
export function endForServiceError(origin: BlockOrigin, call: ModelCall, error: ServiceError, drafts: readonly Draft[] = []): ForcedEnd {
  const { thrown } = call.response
  return {
    exitReason: 'error',
    // an adapter that throws has a bug, so this is not a failure of the provider
    fallback: thrown === undefined ? endingOf(error) : 'error',
    error: thrown instanceof Error ? thrown : new Error(error.message, { cause: error }),
    last: { origin, call },
    drafts: [...drafts, serviceErrorNotice(origin, error)],
  }
}

/** Whether the provider rejected the prompt as too long. Some providers say this only in the message of the error. */
export const isOverflowError = (error: ServiceError): boolean =>
  error.kind === 'context_overflow' || isContextOverflow(error.message, error.code)

/** What servers say when they accept no tools: Ollama, vLLM, llama.cpp and OpenRouter, in this order. */
const toolsRefusal = /does not support tools|requires --enable-auto-tool-choice|tools param requires --jinja|support tool use/i

/** Whether the provider refused the request because it has tools. */
export const isToolsRefusal = ({ stage, message }: ServiceError): boolean => stage === 'before_output' && toolsRefusal.test(message)

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

const ADAPTER = 'model'

/** Whether the adapter threw the error. Any other error was reported by the provider. */
export const isAdapterError = ({ service_name, provider }: ServiceError): boolean => service_name === ADAPTER && provider === ''

export function adapterError(thrown: unknown, afterOutput: boolean): ServiceError {
  return {
    kind: 'unknown',
    service_name: ADAPTER,
    provider: '',
    model_name: '',
    error_type: thrown instanceof Error ? thrown.name : typeof thrown,
    message: 'The adapter of the model threw an error.',
    stage: afterOutput ? 'after_output' : 'before_output',
    retryable: false,
  }
}
