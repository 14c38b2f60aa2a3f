import { isContextOverflow } from '../../core/compaction/overflow.ts'
import type { ServiceError, ServiceErrorKind } from '../../core/model-event.ts'
import { type ErrorFacts, factsOf } from './error-facts.ts'
import { nameOnly, redacted } from './redact.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** Whose call it was, and what may not be said of it. */
export interface Caller {
  readonly provider: string
  readonly model: string
  /** Keys that we hold. They are in no field of any error, whatever the provider repeats. */
  readonly secrets: readonly string[]
  now(): number
}

export interface Verdict {
  readonly kind: ServiceErrorKind
  readonly retryable: boolean
}

/** What went wrong, as data that may be stored and shown: no header, no address, no request, no key, no stack. */
export function serviceError(error: unknown, stage: ServiceError['stage'], caller: Caller): ServiceError {
  const facts = factsOf(error)
  const verdict = judge(facts)
  const code = nameOnly(facts.code, caller.secrets) ?? facts.network
  const wait = retryAfterSeconds(facts.headers, facts.body, caller.now())
  return {
    ...plainError(verdict, stage, caller),
    error_type: nameOnly(facts.type, caller.secrets) ?? nameOnly(facts.name, caller.secrets) ?? 'Error',
    message: messageOf(verdict.kind, facts, caller.secrets),
    ...(facts.status !== undefined && facts.status >= 400 && { http_status: facts.status }),
    ...(code !== undefined && { code }),
    ...(wait !== undefined && { retry_after_seconds: wait }),
  }
}

/** An error that we found ourselves. */
export function plainError({ kind, retryable }: Verdict, stage: ServiceError['stage'], { provider, model }: Caller): ServiceError {
  return { kind, service_name: 'model', provider, model_name: model, error_type: kind, message: sentences[kind], stage, retryable }
}

const sentences: { readonly [K in ServiceErrorKind]: string } = {
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
const speaking: ReadonlySet<ServiceErrorKind> = new Set([
  'content_filter',
  'context_overflow',
  'invalid_request',
  'overloaded',
  'rate_limited',
  'unknown',
])

function messageOf(kind: ServiceErrorKind, { message }: ErrorFacts, secrets: readonly string[]): string {
  const words = speaking.has(kind) ? redacted(message, secrets) : ''
  return words === '' ? sentences[kind] : `${sentences[kind]} It said: ${words}`
}

const malformed = /JSONParse|TypeValidation|EmptyResponseBody|InvalidResponseData|NoContentGenerated/
/** What the SDK for Anthropic says of a first piece that it can not read. */
const unreadable = /^Expected a normalized \w+ stream error$/
const ours = /UnsupportedFunctionality|InvalidArgument|InvalidPrompt|NoSuchModel/
const late = /TIMEOUT|ETIMEDOUT/
const filtered = /content[_ ]?(?:filter|policy|management)|safety system/i
const badKey = /api[_ ]key[_ ](?:not[_ ]valid|invalid)|invalid (?:x-)?api[- ]key|incorrect api key/i

/** By status and code first, by words only where providers give nothing better. */
function judge({ name, message, type, code, status = statusIn(code), network }: ErrorFacts): Verdict {
  const words = [type, code, message].filter((word) => typeof word === 'string').join(' ')
  if (malformed.test(name) || unreadable.test(message)) return passing('malformed_response') // its words hold what was sent, which may say anything
  if (status !== 429 && isContextOverflow(message, overflowCode(type, code))) return fatal('context_overflow')
  if (status === 401 || status === 403 || /LoadAPIKey/.test(name) || badKey.test(words)) return fatal('authentication')
  if (status === 429) return /insufficient_quota/.test(words) ? fatal('rate_limited') : passing('rate_limited')
  if (status === 413) return fatal('context_overflow')
  if (status === 529 || status === 503 || /overloaded/i.test(String(type))) return passing('overloaded')
  if (status === 408 || status === 504 || /^timeout/i.test(String(type))) return passing('timeout')
  if (status !== undefined && status >= 500) return passing('unknown')
  if (filtered.test(words)) return fatal('content_filter')
  if (status !== undefined && status >= 400) return fatal('invalid_request')
  if (network !== undefined) return passing(late.test(network) ? 'timeout' : 'connection')
  if (status !== undefined) return passing('malformed_response') // it said that all was well
  if (ours.test(name)) return fatal('invalid_request')
  return fatal('unknown')
}

/** In a stream that began well, the status of what went wrong later can only be told in its words. */
function statusIn(code: unknown): number | undefined {
  const status = typeof code === 'number' || (typeof code === 'string' && /^\d{3}$/.test(code)) ? Number(code) : 0
  return status >= 400 && status < 600 ? status : undefined
}

const overflowCode = (type: unknown, code: unknown) =>
  [code, type].filter((name) => typeof name === 'string').find((name) => isContextOverflow('', name))
const passing = (kind: ServiceErrorKind): Verdict => ({ kind, retryable: true })
const fatal = (kind: ServiceErrorKind): Verdict => ({ kind, retryable: false })
