import { isContextOverflow } from '../../core/compaction/overflow.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { ServiceError, ServiceErrorKind } from '../../core/model-event.ts'
import { redact, safeName } from './redact.ts'

/** Data about a call for its error messages. */
export interface CallInfo {
  readonly provider: string
  readonly model: string
  /** The keys of this process. They are removed from every field of an error, because some providers repeat them in messages. */
  readonly secrets: readonly string[]
  now(): number
}

/** The kind of an error, and whether the same call may succeed later. */
export interface Classification {
  readonly kind: ServiceErrorKind
  readonly retryable: boolean
}

/**
 * Turns an error of a provider or of its package into data that is safe to store and show. The data has no headers, address, request, key
 * or stack.
 */
export function toServiceError(error: unknown, stage: ServiceError['stage'], info: CallInfo): ServiceError {
  const facts = readErrorFacts(error)
  const reason = classify(facts)
  const code = safeName(facts.code, info.secrets) ?? facts.network
  const wait = retryAfterSeconds(facts.headers, facts.body, info.now())
  return {
    ...standardError(reason, stage, info),
    error_type: safeName(facts.type, info.secrets) ?? safeName(facts.name, info.secrets) ?? 'Error',
    message: messageOf(reason.kind, facts, info.secrets),
    ...(facts.status !== undefined && facts.status >= 400 && { http_status: facts.status }),
    ...(code !== undefined && { code }),
    ...(wait !== undefined && { retry_after_seconds: wait }),
  }
}

/** An error that Daybook itself has detected. Its message is the standard message of its kind. */
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

/**
 * The kinds of errors whose message quotes the provider. Messages about wrong keys are not quoted, because they may contain the key. Broken
 * connections have no message to quote.
 */
const kindsWithDetail: ReadonlySet<ServiceErrorKind> = new Set([
  'content_filter',
  'context_overflow',
  'invalid_request',
  'overloaded',
  'rate_limited',
  'unknown',
])

function messageOf(kind: ServiceErrorKind, { message }: ErrorFacts, secrets: readonly string[]): string {
  const detail = kindsWithDetail.has(kind) ? redact(message, secrets) : ''
  return detail === '' ? messages[kind] : `${messages[kind]} The provider said: ${detail}`
}

const malformedNames = /JSONParse|TypeValidation|EmptyResponseBody|InvalidResponseData|NoContentGenerated/
/** The message of the Anthropic package when it can not read the first event of a stream. */
const unreadableStart = /^Expected a normalized \w+ stream error$/
const sdkRejection = /UnsupportedFunctionality|InvalidArgument|InvalidPrompt|NoSuchModel/
const timeoutCode = /TIMEOUT|ETIMEDOUT/
const filterWords = /content[_ ]?(?:filter|policy|management)|safety system/i
/** The message of Groq, with status 400, when its model wrote a call that can not be read. A second call of the model may succeed. */
const failedCallWords = /tool_use_failed|failed to call a function/i
const badKeyWords = /api[_ ]key[_ ](?:not[_ ]valid|invalid)|invalid (?:x-)?api[- ]key|incorrect api key/i

/** The kind of an error. The kind is chosen by status and code. The text of the message is used only if the provider sends neither. */
function classify({ name, message, type, code, status = statusFromCode(code), network }: ErrorFacts): Classification {
  const words = [type, code, message].filter((word) => typeof word === 'string').join(' ')
  // This check comes first. The messages of these errors quote the response, which may by chance contain the words that the checks below
  // look for.
  if (malformedNames.test(name) || unreadableStart.test(message)) return temporary('malformed_response')
  if (status !== 429 && isContextOverflow(message, overflowCode(type, code))) return permanent('context_overflow')
  if (status === 401 || status === 403 || /LoadAPIKey/.test(name) || badKeyWords.test(words)) return permanent('authentication')
  if (status === 429) return /insufficient_quota/.test(words) ? permanent('rate_limited') : temporary('rate_limited')
  if (status === 413) return permanent('context_overflow')
  if (status === 529 || status === 503 || /overloaded/i.test(String(type))) return temporary('overloaded')
  if (status === 408 || status === 504 || /^timeout/i.test(String(type))) return temporary('timeout')
  if (status !== undefined && status >= 500) return temporary('unknown')
  if (failedCallWords.test(words)) return temporary('malformed_response')
  if (filterWords.test(words)) return permanent('content_filter')
  if (status !== undefined && status >= 400) return permanent('invalid_request')
  if (network !== undefined) return temporary(timeoutCode.test(network) ? 'timeout' : 'connection')
  if (status !== undefined) return temporary('malformed_response') // a status below 400 whose body can not be read
  if (sdkRejection.test(name)) return permanent('invalid_request')
  return permanent('unknown')
}

/** The HTTP status in the code of an error. A stream begins with status 200, so later errors have their status in their code. */
function statusFromCode(code: unknown): number | undefined {
  const status = typeof code === 'number' || (typeof code === 'string' && /^\d{3}$/.test(code)) ? Number(code) : 0
  return status >= 400 && status < 600 ? status : undefined
}

const overflowCode = (type: unknown, code: unknown) =>
  [code, type].filter((name) => typeof name === 'string').find((name) => isContextOverflow('', name))
const temporary = (kind: ServiceErrorKind): Classification => ({ kind, retryable: true })
const permanent = (kind: ServiceErrorKind): Classification => ({ kind, retryable: false })

/** An error as data, in the same form for HTTP responses, events of a stream and network errors. */
interface ErrorFacts {
  /** The name of the error class. */
  readonly name: string
  readonly message: string
  readonly status?: number
  /** The type of error that the provider reports, such as `rate_limit_error`. */
  readonly type?: unknown
  /** The code that the provider reports. */
  readonly code?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The error code of the operating system or the HTTP client, such as `ECONNREFUSED`. */
  readonly network?: string
}

function readErrorFacts(error: unknown): ErrorFacts {
  const outer = isObject(error) ? error : {}
  const body = outer.data ?? (typeof outer.responseBody === 'string' ? parseJson(outer.responseBody) : undefined)
  const inner = innermostError(body)
  const network = networkCode(error)
  return {
    name: typeof outer.name === 'string' ? outer.name : 'Error',
    message: nonEmptyText(inner.message) ?? nonEmptyText(outer.message) ?? String(error),
    type: inner.type ?? inner.status ?? outer.type,
    code: inner.code ?? outer.code,
    ...(typeof outer.statusCode === 'number' && { status: outer.statusCode }),
    ...(isObject(outer.responseHeaders) && { headers: outer.responseHeaders as Record<string, string> }),
    ...(body !== undefined && { body }),
    ...(network !== undefined && { network }),
  }
}

/** Unwraps `{error: {…}}`, `{response: {…}}` and `[…]`, in which providers put their errors. */
function innermostError(body: unknown): Readonly<Record<string, unknown>> {
  const first = Array.isArray(body) ? body[0] : body
  if (!isObject(first)) return {}
  const inner = isObject(first.error) ? first.error : isObject(first.response) ? first.response : undefined
  return inner ? innermostError(inner) : first
}

const nonEmptyText = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : undefined)

/** The first system error code in the chain of `cause` fields. The search stops after eight steps, because the chain may be circular. */
function networkCode(error: unknown): string | undefined {
  let current = error
  for (let depth = 0; depth < 8 && isObject(current); depth++) {
    if (typeof current.code === 'string' && /^(?:E[A-Z]{3,}|UND_ERR_\w+)$/.test(current.code)) return current.code
    if (current.message === 'terminated') return networkCode(current.cause) ?? 'terminated'
    current = current.cause
  }
  return undefined
}

/** How many seconds to wait before a retry, according to the response headers or to Google's `RetryInfo` in the error body. */
export function retryAfterSeconds(headers: Readonly<Record<string, string>> | undefined, body: unknown, now: number): number | undefined {
  const milliseconds = parseNonNegative(headers?.['retry-after-ms'])
  if (milliseconds !== undefined) return milliseconds / 1000
  const header = headers?.['retry-after']
  if (header !== undefined) return parseNonNegative(header) ?? (/[a-z]/i.test(header) ? secondsUntil(Date.parse(header), now) : undefined)
  return googleDelay(body)
}

function parseNonNegative(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

const secondsUntil = (moment: number, now: number) => (Number.isNaN(moment) ? undefined : Math.max(0, (moment - now) / 1000))

/** The seconds in Google's error body: `{error: {details: [{'@type': '…RetryInfo', retryDelay: '37s'}]}}`. */
function googleDelay(body: unknown): number | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : body
  const details = isObject(error) && Array.isArray(error.details) ? error.details : []
  for (const detail of details) {
    const delay = isObject(detail) && typeof detail.retryDelay === 'string' ? /^([\d.]+)s$/.exec(detail.retryDelay)?.[1] : undefined
    if (delay !== undefined) return parseNonNegative(delay)
  }
  return undefined
}
