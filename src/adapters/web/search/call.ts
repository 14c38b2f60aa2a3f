import { isObject, parseJson } from '../../../core/json.ts'
import { redact } from '../../../core/secrets.ts'
import { SearchFailure } from '../../../ports/web.ts'

/** A request to a search service. */
export interface ServiceCall {
  /** The name of the service in messages. */
  readonly service: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** If set, the body is sent as JSON with POST. Otherwise the request is a GET. */
  readonly body?: object
  /** Status codes that mean that the key was rejected, besides 401 and 403. */
  readonly keyStatus?: readonly number[]
  /** Status codes that mean that the limit is reached, besides 429. */
  readonly limitStatus?: readonly number[]
}

const timeoutMs = 10_000
const maxBytes = 5 * 1024 * 1024
const maxMessageChars = 200

/**
 * Calls a service and parses the response. Throws a `SearchFailure` if the call fails or the response is not a JSON object. If `signal` is
 * aborted, throws its reason.
 */
export async function callService(call: ServiceCall, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
  const { service, url, headers, body } = call
  const deadline = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, {
      method: body ? 'POST' : 'GET',
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      redirect: 'error', // a redirect could send the key to another host
      signal: AbortSignal.any([signal, deadline]),
    })
    const parsed = parseJson(await readText(response, service))
    if (!response.ok) throw failureOf(call, response, parsed)
    if (!isObject(parsed)) throw new SearchFailure('malformed', `${service} sent a response that is not a JSON object`)
    return parsed
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SearchFailure) throw error
    const reason = deadline.aborted ? `did not answer within ${timeoutMs} ms` : 'can not be reached'
    throw new SearchFailure('unavailable', `${service} ${reason}`, { cause: error })
  }
}

/** Reads the body of a response up to a limit. */
async function readText(response: Response, service: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.length
    if (size > maxBytes) throw new SearchFailure('malformed', `${service} sent more than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function failureOf({ service, keyStatus = [], limitStatus = [] }: ServiceCall, response: Response, body: unknown): SearchFailure {
  const { status } = response
  const said = messageIn(body)
  const detail = said === undefined ? `status ${status}` : `status ${status}: ${redact(said.slice(0, maxMessageChars))}`
  if (status === 429 || limitStatus.includes(status)) {
    const seconds = retryAfter(response)
    const wait = seconds === undefined ? '' : `; it asks to wait ${seconds} s`
    return new SearchFailure('rate_limit', `${service} accepts no more requests now (${detail})${wait}`, {
      ...(seconds !== undefined && { retryAfterSeconds: seconds }),
    })
  }
  if (status === 401 || status === 403 || keyStatus.includes(status))
    return new SearchFailure('key', `${service} rejected the request or its key (${detail})`)
  return new SearchFailure('unavailable', `${service} failed (${detail})`)
}

/** The error message in a response. Each service has it in another place. */
function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, detail, message } = body
  const places = [
    message,
    error,
    detail,
    ...[error, detail].flatMap((inner) => (isObject(inner) ? [inner.detail, inner.error, inner.message] : [])),
  ]
  return places.find((place): place is string => typeof place === 'string' && place !== '')
}

/** The header `Retry-After` in seconds. It contains a number of seconds or a date. */
function retryAfter({ headers }: Response): number | undefined {
  const value = headers.get('retry-after') ?? ''
  if (/^\d{1,6}$/.test(value)) return Number(value)
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - Date.now()) / 1_000))
}

/** The list of results in a response. A service that has found nothing may leave the list out. Any other value is an error. */
export function resultList(service: string, list: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw new SearchFailure('malformed', `${service} sent results that are not a list`)
  return list.filter(isObject)
}
