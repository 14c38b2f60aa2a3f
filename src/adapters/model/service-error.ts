import { isContextOverflow } from '../../core/compaction/overflow.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { ServiceError, ServiceErrorKind } from '../../core/model-event.ts'
import { redact, safeName } from './redact.ts'

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

/** What an error says of itself, whichever library made it: an answer of the provider, an error inside its stream, a broken line. */
export interface ErrorFacts {
  /** The error's own class. */
  readonly name: string
  readonly message: string
  readonly status?: number
  /** The provider's words for it: a class of errors, and the one error. */
  readonly type?: unknown
  readonly code?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** What the network said: `ECONNREFUSED`. */
  readonly network?: string
}

export function readErrorFacts(error: unknown): ErrorFacts {
  const outer = isObject(error) ? error : {}
  const body = outer.data ?? (typeof outer.responseBody === 'string' ? parseJson(outer.responseBody) : undefined)
  const said = innermostError(body)
  const network = networkCode(error)
  return {
    name: typeof outer.name === 'string' ? outer.name : 'Error',
    message: nonEmptyText(said.message) ?? nonEmptyText(outer.message) ?? String(error),
    type: said.type ?? said.status ?? outer.type,
    code: said.code ?? outer.code,
    ...(typeof outer.statusCode === 'number' && { status: outer.statusCode }),
    ...(isObject(outer.responseHeaders) && { headers: outer.responseHeaders as Record<string, string> }),
    ...(body !== undefined && { body }),
    ...(network !== undefined && { network }),
  }
}

/** `{error: {…}}` within `{response: {…}}` within `[…]`: providers wrap what they say. */
function innermostError(body: unknown): Readonly<Record<string, unknown>> {
  const first = Array.isArray(body) ? body[0] : body
  if (!isObject(first)) return {}
  const inner = isObject(first.error) ? first.error : isObject(first.response) ? first.response : undefined
  return inner ? innermostError(inner) : first
}

const nonEmptyText = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : undefined)

/** Down the chain of causes, which may be as long as it likes. */
function networkCode(error: unknown): string | undefined {
  let current = error
  for (let depth = 0; depth < 8 && isObject(current); depth++) {
    if (typeof current.code === 'string' && /^(?:E[A-Z]{3,}|UND_ERR_\w+)$/.test(current.code)) return current.code
    if (current.message === 'terminated') return networkCode(current.cause) ?? 'terminated'
    current = current.cause
  }
  return undefined
}

/** When a provider wants to be asked again, in seconds from now: by its headers, or by Google's note in the body of an error. */
export function retryAfterSeconds(headers: Readonly<Record<string, string>> | undefined, body: unknown, now: number): number | undefined {
  const milliseconds = parseNonNegative(headers?.['retry-after-ms'])
  if (milliseconds !== undefined) return milliseconds / 1000
  const said = headers?.['retry-after']
  if (said !== undefined) return parseNonNegative(said) ?? (/[a-z]/i.test(said) ? secondsUntil(Date.parse(said), now) : undefined)
  return googleDelay(body)
}

function parseNonNegative(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

const secondsUntil = (moment: number, now: number) => (Number.isNaN(moment) ? undefined : Math.max(0, (moment - now) / 1000))

/** `{error: {details: [{'@type': '…RetryInfo', retryDelay: '37s'}]}}` */
function googleDelay(body: unknown): number | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : body
  const details = isObject(error) && Array.isArray(error.details) ? error.details : []
  for (const detail of details) {
    const delay = isObject(detail) && typeof detail.retryDelay === 'string' ? /^([\d.]+)s$/.exec(detail.retryDelay)?.[1] : undefined
    if (delay !== undefined) return parseNonNegative(delay)
  }
  return undefined
}
