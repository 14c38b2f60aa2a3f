import { isContextOverflow } from '../../core/compaction/overflow.ts'
import type { ServiceError, ServiceErrorKind } from '../../core/model-event.ts'
import { type ErrorFacts, readErrorFacts } from './error-facts.ts'
import { redact, safeName } from './redact.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** Whose call it was, and what may not be said of it. */
export interface CallInfo {
  readonly provider: string
  readonly model: string
  /** Keys that we hold. They are in no field of any error, whatever the provider repeats. */
  readonly secrets: readonly string[]
  now(): number
}

export interface Classification {
  readonly kind: ServiceErrorKind
  readonly retryable: boolean
}

/** What went wrong, as data that may be stored and shown: no header, no address, no request, no key, no stack. */
export function toServiceError(error: unknown, stage: ServiceError['stage'], caller: CallInfo): ServiceError {
  const facts = readErrorFacts(error)
  const verdict = classify(facts)
  const code = safeName(facts.code, caller.secrets) ?? facts.network
  const wait = retryAfterSeconds(facts.headers, facts.body, caller.now())
  return {
    ...standardError(verdict, stage, caller),
    error_type: safeName(facts.type, caller.secrets) ?? safeName(facts.name, caller.secrets) ?? 'Error',
    message: messageOf(verdict.kind, facts, caller.secrets),
    ...(facts.status !== undefined && facts.status >= 400 && { http_status: facts.status }),
    ...(code !== undefined && { code }),
    ...(wait !== undefined && { retry_after_seconds: wait }),
  }
}

/** An error that we found ourselves. */
export function standardError(
  { kind, retryable }: Classification,
  stage: ServiceError['stage'],
  { provider, model }: CallInfo,
): ServiceError {
  return { kind, service_name: 'model', provider, model_name: model, error_type: kind, message: messages[kind], stage, retryable }
}

const messages: { readonly [K in ServiceErrorKind]: string } = {
  aborted: 'The call was stopped.',
  authentication: 'The provider did not accept the key.',
  connection: 'The connection to the provider failed.',
  content_filter: "The provider's content filter stopped the reply.",
  context_overflow: 'The prompt is too long for the model.',
  invalid_request: 'The provider refused the request.',
  malformed_response: 'The provider sent something that is not in its own format.',
  overloaded: 'The provider is overloaded.',
  rate_limited: 'The provider takes no more requests for now.',
  timeout: 'The provider did not answer in time.',
  unknown: 'The provider failed.',
}

/** Words of a provider help whoever sets it up; of keys and of broken lines it has nothing to say that we may repeat. */
const kindsWithDetail: ReadonlySet<ServiceErrorKind> = new Set([
  'content_filter',
  'context_overflow',
  'invalid_request',
  'overloaded',
  'rate_limited',
  'unknown',
])

function messageOf(kind: ServiceErrorKind, { message }: ErrorFacts, secrets: readonly string[]): string {
  const words = kindsWithDetail.has(kind) ? redact(message, secrets) : ''
  return words === '' ? messages[kind] : `${messages[kind]} It said: ${words}`
}

const malformedNames = /JSONParse|TypeValidation|EmptyResponseBody|InvalidResponseData|NoContentGenerated/
/** What the SDK for Anthropic says of a first piece that it can not read. */
const unreadableStart = /^Expected a normalized \w+ stream error$/
const sdkRejection = /UnsupportedFunctionality|InvalidArgument|InvalidPrompt|NoSuchModel/
const timeoutCode = /TIMEOUT|ETIMEDOUT/
const filterWords = /content[_ ]?(?:filter|policy|management)|safety system/i
const badKeyWords = /api[_ ]key[_ ](?:not[_ ]valid|invalid)|invalid (?:x-)?api[- ]key|incorrect api key/i

/** By status and code first, by words only where providers give nothing better. */
function classify({ name, message, type, code, status = statusFromCode(code), network }: ErrorFacts): Classification {
  const words = [type, code, message].filter((word) => typeof word === 'string').join(' ')
  if (malformedNames.test(name) || unreadableStart.test(message)) return temporary('malformed_response') // its words hold what was sent, which may say anything
  if (status !== 429 && isContextOverflow(message, overflowCode(type, code))) return permanent('context_overflow')
  if (status === 401 || status === 403 || /LoadAPIKey/.test(name) || badKeyWords.test(words)) return permanent('authentication')
  if (status === 429) return /insufficient_quota/.test(words) ? permanent('rate_limited') : temporary('rate_limited')
  if (status === 413) return permanent('context_overflow')
  if (status === 529 || status === 503 || /overloaded/i.test(String(type))) return temporary('overloaded')
  if (status === 408 || status === 504 || /^timeout/i.test(String(type))) return temporary('timeout')
  if (status !== undefined && status >= 500) return temporary('unknown')
  if (filterWords.test(words)) return permanent('content_filter')
  if (status !== undefined && status >= 400) return permanent('invalid_request')
  if (network !== undefined) return temporary(timeoutCode.test(network) ? 'timeout' : 'connection')
  if (status !== undefined) return temporary('malformed_response') // it said that all was well
  if (sdkRejection.test(name)) return permanent('invalid_request')
  return permanent('unknown')
}

/** In a stream that began well, the status of what went wrong later can only be told in its words. */
function statusFromCode(code: unknown): number | undefined {
  const status = typeof code === 'number' || (typeof code === 'string' && /^\d{3}$/.test(code)) ? Number(code) : 0
  return status >= 400 && status < 600 ? status : undefined
}

const overflowCode = (type: unknown, code: unknown) =>
  [code, type].filter((name) => typeof name === 'string').find((name) => isContextOverflow('', name))
const temporary = (kind: ServiceErrorKind): Classification => ({ kind, retryable: true })
const permanent = (kind: ServiceErrorKind): Classification => ({ kind, retryable: false })
