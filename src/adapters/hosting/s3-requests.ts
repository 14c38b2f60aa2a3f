import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AwsClient } from 'aws4fetch'
import { Failure } from '../../core/failure.ts'
import type { ByteRange } from '../../ports/blobs.ts'
import type { S3Options } from './s3-objects.ts'

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** The key of the object. A request without a key concerns the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** The part of the object to read. */
  readonly range?: ByteRange
  /** If true, the result for a missing object is undefined. Otherwise a missing object is a failure. */
  readonly missing?: boolean
  /**
   * If true, a server that does not know this request, or does not allow it with these credentials, causes no error: the result is
   * undefined.
   */
  readonly optional?: boolean
  /** If true, an object that exists is not replaced. A server that does not support this condition replaces the object. */
  readonly ifMissing?: boolean
  /** The time limit in milliseconds for all attempts together. After it, no further attempt is sent. */
  readonly withinMs?: number
}

interface S3Response {
  readonly body: Uint8Array
  /** True if nothing was stored, because the object exists already. Only for a request with `ifMissing`. */
  readonly existed?: boolean
  /** The header `ETag`, which names a part of an upload. */
  readonly etag?: string
  /** The header `Last-Modified`, in epoch milliseconds. */
  readonly modifiedAt?: number
}

export type S3Requests = (request: S3Request) => Promise<S3Response | undefined>

/** How often a request is sent at most. A server that asks its clients to slow down gets more time. */
const maxAttempts = { normal: 4, throttled: 8 }

/** The longest delay before an attempt, and the longest delay that a server may ask for with `Retry-After`. */
const MAX_DELAY_MS = { own: 5_000, asked: 20_000 }
/**
 * S3 rejects a request whose time differs by more than 15 minutes from the clock of S3. If S3 rejects a request with status 403, and the
 * clock of S3 differs by more than this constant from the time in the request, the request is sent again with the time of S3.
 */
const MAX_CLOCK_ERROR_MS = 5 * 60_000

/** A time such as `20260131T120000Z`. */
const amazonTime = (time: number) => `${new Date(time).toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '')}Z`

/** Sends signed requests. Retries after a network error and after the statuses 409, 429 and 5xx. Every request may safely be repeated. */
export function createS3Requests(options: S3Options): S3Requests {
  const { timeoutMs = 60_000, retryDelayMs = 100 } = options
  const bucketUrl = bucketUrlOf(options)
  let client: Promise<AwsClient> | undefined
  let knowsConditions = true
  /**
   * How many milliseconds the clock of the server is ahead of ours. This value is updated when the server rejects the time of a request.
   */
  let clockDifference = 0

  async function createClient(): Promise<AwsClient> {
    const { accessKeyId, secretAccessKey, sessionToken, region } = options
    const { AwsClient } = await import('aws4fetch')
    const session = sessionToken === undefined ? {} : { sessionToken }
    return new AwsClient({ accessKeyId, secretAccessKey, ...session, region, service: 's3', retries: 0 })
  }

  async function send(request: S3Request, deadline: number): Promise<S3Response | S3Error | undefined> {
    client ??= createClient()
    const { method, body, range } = request
    const isConditional = request.ifMissing === true && knowsConditions
    const hash = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const headers = {
      'X-Amz-Content-Sha256': hash,
      ...(body && { 'Content-Type': 'application/octet-stream' }),
      ...(range && { Range: `bytes=${range.start}-${range.end - 1}` }),
      ...(isConditional && { 'If-None-Match': '*' }),
    }
    const content = body ? { body: Uint8Array.from(body) } : {}
    try {
      const signal = AbortSignal.timeout(Math.max(0, Math.min(timeoutMs, Math.ceil(deadline - performance.now()))))
      const aws = { datetime: amazonTime(Date.now() + clockDifference) }
      // redirects are not followed: another host would need another signature
      const sent = { method, headers, ...content, signal, aws, redirect: 'manual' as const }
      const response = await (await client).fetch(urlOf(bucketUrl, request), sent)
      const bytes = new Uint8Array(await response.arrayBuffer())
      const code = response.ok && method !== 'POST' ? undefined : errorCodeIn(bytes)
      // the request that ends an upload may fail although its status is 200; the body then has an error code
      if (response.ok && code !== undefined) return errorOf(500, code)
      if (response.ok && range && isOtherRange(response, range)) return errorOf(500, 'another range than was requested')
      if (response.ok) return { body: range ? partOf(bytes, response.status, range) : bytes, ...detailsOf(response.headers) }
      const difference = Date.parse(response.headers.get('Date') ?? '') - Date.now()
      if (response.status === 403 && Math.abs(difference - clockDifference) > MAX_CLOCK_ERROR_MS) {
        clockDifference = difference
        return send(request, deadline)
      }
      if (response.status === 404 && request.missing && code !== 'NoSuchBucket') return undefined
      if (request.optional && [403, 405, 501].includes(response.status)) return undefined
      if (request.ifMissing && response.status === 412) return { body: new Uint8Array(), existed: true }
      if (isConditional && (response.status === 501 || response.status === 400)) {
        // a status of 400 may have another reason; in this case the request without the condition fails, too
        const result = await send({ ...request, ifMissing: false }, deadline)
        if (response.status === 501 || (result && 'body' in result)) knowsConditions = false
        return result
      }
      return { ...errorOf(response.status, code, response.headers.get('x-amz-bucket-region')), ...retryAfterOf(response.headers) }
    } catch (error) {
      return networkError(error)
    }
  }

  return async (request) => {
    const deadline = performance.now() + (request.withinMs ?? Number.POSITIVE_INFINITY)
    for (let attempt = 1; ; attempt++) {
      const result = await send(request, deadline)
      if (!result || 'body' in result) return result
      const own = Math.min(retryDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS.own) * (0.5 + Math.random())
      const delay = Math.max(own, result.retryAfterMs ?? 0)
      const most = result.isThrottled ? maxAttempts.throttled : maxAttempts.normal
      const isLast = attempt >= most || performance.now() + delay >= deadline
      if (!result.retryable || isLast) throw requestFailure(request, result, attempt)
      await sleep(delay)
    }
  }
}

function detailsOf(headers: Headers): Omit<S3Response, 'body'> {
  const etag = headers.get('ETag')
  const modifiedAt = Date.parse(headers.get('Last-Modified') ?? '')
  return { ...(etag !== null && { etag }), ...(!Number.isNaN(modifiedAt) && { modifiedAt }) }
}

/** Whether a server has sent a range that begins at another position than the requested one. */
const isOtherRange = ({ status, headers }: Response, { start }: ByteRange): boolean =>
  status === 206 && !(headers.get('Content-Range') ?? `bytes ${start}-`).startsWith(`bytes ${start}-`)

/** The requested part of the received bytes. A server may ignore the range (status 200), or send more than was requested. */
const partOf = (bytes: Uint8Array, status: number, { start, end }: ByteRange): Uint8Array =>
  status === 206 ? bytes.slice(0, end - start) : bytes.slice(start, end)

interface S3Error {
  /** Status, error code and hint, as the message of the failure shows them. */
  readonly text: string
  /** Whether another attempt may succeed. */
  readonly retryable: boolean
  /** Whether the server gets more requests than it can answer or than it allows. */
  readonly isThrottled?: boolean
  /** For how long the server asks its clients to wait. */
  readonly retryAfterMs?: number
}

const REGION = 'set the region of the bucket'
/** Hints by the code or the status of an error. The response to a HEAD request has no code. */
const hints: Readonly<Record<string, string>> = {
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  IllegalLocationConstraintException: REGION,
  RequestTimeTooSkewed: 'correct the clock of this machine',
  301: REGION,
  400: `${REGION}, and correct the endpoint`,
  403: 'correct the access keys, and allow them to read, write and list the bucket',
  NoSuchBucket: 'make the bucket, or correct its name',
  AccessDenied: 'allow these credentials to use the bucket',
  InvalidAccessKeyId: 'correct the access key',
  SignatureDoesNotMatch: 'correct the secret access key and the region',
}

function errorOf(status: number, code: string | undefined, region: string | null = null): S3Error {
  const known = hints[code ?? status]
  const hint = known === REGION && region !== null ? `${REGION}: it is in the region ${region.slice(0, 40)}` : known
  return {
    text: [status, code, hint && `(${hint})`].filter(Boolean).join(' '),
    retryable: (status >= 500 && status !== 501) || status === 429 || status === 409,
    isThrottled: status === 503 || status === 429,
  }
}

/** The header `Retry-After`, if it is a number of seconds. */
function retryAfterOf(headers: Headers): Pick<S3Error, 'retryAfterMs'> {
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  return seconds > 0 ? { retryAfterMs: Math.min(seconds * 1_000, MAX_DELAY_MS.asked) } : {}
}

/** The error code in an error response. Nothing else is read, because the response may contain the access key. */
function errorCodeIn(body: Uint8Array): string | undefined {
  const [, code] = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(new TextDecoder().decode(body.subarray(0, 4096))) ?? []
  return code
}

function networkError(error: unknown): S3Error {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
  const name = error instanceof Error ? error.name : 'an unknown error'
  return { text: `nothing (${code ?? name})`, retryable: true }
}

/** The failure of a request. A model may read the message, so it contains no key, no address and no credentials. */
function requestFailure({ method }: S3Request, { text }: S3Error, attempt: number): Failure {
  const times = attempt === 1 ? '' : `, ${attempt} times`
  return new Failure('hosting.failed', `S3 answered ${method} with ${text}${times}`, { details: { method, said: text } })
}

/** The address of the bucket, without a slash at its end. */
function bucketUrlOf({ endpoint, bucket, addressing = 'path' }: S3Options): string {
  if (!URL.canParse(endpoint)) throw new Failure('hosting.failed', 'the address of S3 is not a URL: begin it with https://')
  const server = endpoint.replace(/(?<!\/)\/+$/, '')
  if (addressing === 'path') return `${server}/${encode(bucket)}`
  const url = new URL(server)
  const host = `${bucket}.${url.hostname}`
  url.hostname = host
  if (url.hostname !== host)
    throw new Failure('hosting.failed', 'the name of the bucket can not be a part of the host name of S3: use the addressing `path`')
  return url.href.replace(/(?<!\/)\/+$/, '')
}

function urlOf(bucketUrl: string, { key, query }: S3Request): string {
  const path = key === undefined ? '' : `/${key.split('/').map(encode).join('/')}`
  const parameters = Object.entries(query ?? {}).map(([name, value]) => `${encode(name)}=${encode(value)}`)
  return `${bucketUrl}${path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`
}

const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
