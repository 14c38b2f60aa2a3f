import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AwsClient } from 'aws4fetch'
import { Failure } from '../../core/failure.ts'
import type { S3Options } from './s3-objects.ts'

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Of the whole bucket when there is none. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Nothing there is an answer, not a failure. */
  readonly missing?: boolean
}

export interface S3Response {
  readonly body: Uint8Array
}

export type S3Requests = (request: S3Request) => Promise<S3Response | undefined>

const maxAttempts = 4

/** Signed requests, repeated while the server is busy or broken. Every request here may be made twice. Undefined when nothing is there. */
export function createS3Requests(options: S3Options): S3Requests {
  const { endpoint, bucket, timeoutMs = 60_000, retryDelayMs = 100 } = options
  if (!URL.canParse(endpoint)) throw new Failure('hosting.failed', 'the address of S3 is not a URL: begin it with https://')
  let client: Promise<AwsClient> | undefined

  async function load(): Promise<AwsClient> {
    const { accessKeyId, secretAccessKey, sessionToken, region } = options
    const { AwsClient } = await import('aws4fetch')
    const session = sessionToken === undefined ? {} : { sessionToken }
    return new AwsClient({ accessKeyId, secretAccessKey, ...session, region, service: 's3', retries: 0 })
  }

  async function once(request: S3Request): Promise<S3Response | S3Error | undefined> {
    client ??= load()
    const { method, body } = request
    const hash = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const headers = { 'X-Amz-Content-Sha256': hash, ...(body ? { 'Content-Type': 'application/octet-stream' } : {}) }
    const content = body ? { body: Uint8Array.from(body) } : {}
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await (await client).fetch(urlOf(endpoint, bucket, request), { method, headers, ...content, signal })
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (response.ok) return { body: bytes }
      if (response.status === 404 && request.missing && errorCodeIn(bytes) !== 'NoSuchBucket') return undefined
      return errorOf(response.status, errorCodeIn(bytes))
    } catch (error) {
      return networkError(error)
    }
  }

  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      const answer = await once(request)
      if (!answer || 'body' in answer) return answer
      if (!answer.retryable || attempt === maxAttempts) throw requestFailure(request, answer, attempt)
      await sleep(retryDelayMs * 2 ** (attempt - 1) * (0.5 + Math.random()))
    }
  }
}

interface S3Error {
  readonly text: string
  /** May be over the next time. */
  readonly retryable: boolean
}

const hints: Readonly<Record<string, string>> = {
  NoSuchBucket: 'make the bucket, or correct its name',
  AccessDenied: 'allow these credentials to use the bucket',
  InvalidAccessKeyId: 'correct the access key',
  SignatureDoesNotMatch: 'correct the secret access key and the region',
}

function errorOf(status: number, code: string | undefined): S3Error {
  const hint = code === undefined ? undefined : hints[code]
  return { text: [status, code, hint && `(${hint})`].filter(Boolean).join(' '), retryable: status >= 500 || status === 429 }
}

/** Only the code is taken: an answer may repeat what was signed, and with it the access key. */
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

/** Neither the key nor the address nor anything of the credentials: this may be read by a model. */
function requestFailure({ method }: S3Request, { text: said }: S3Error, attempt: number): Failure {
  const times = attempt === 1 ? '' : `, ${attempt} times`
  return new Failure('hosting.failed', `S3 answered ${method} with ${said}${times}`, { details: { method, said } })
}

function urlOf(endpoint: string, bucket: string, { key, query }: S3Request): string {
  const path = key === undefined ? '' : `/${key.split('/').map(encode).join('/')}`
  const parameters = Object.entries(query ?? {}).map(([name, value]) => `${encode(name)}=${encode(value)}`)
  return `${endpoint.replace(/\/+$/, '')}/${encode(bucket)}${path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`
}

const encode = (text: string) => encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
