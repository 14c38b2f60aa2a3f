import type { IncomingMessage } from 'node:http'
import type { Fetcher, FetchFailure, FetchOptions, FetchResult } from '../../ports/web.ts'
import { readBody, TooLarge } from './body.ts'
import { createGuard, type GuardOptions, Refusal } from './guard.ts'
import { sendRequest, TimedOut, type TimeLimits } from './request.ts'
import { forbidsEverything, isAllowedByRobots, parseRobots, type RobotsRules } from './robots.ts'

/** Options of `createFetcher`. */
export interface FetcherOptions extends GuardOptions {
  /** Default: 10 MiB. */
  readonly maxBytes?: number
  /** Default: 5. */
  readonly maxRedirects?: number
  readonly limits?: Partial<TimeLimits>
  /** Whether the file `robots.txt` of a site is obeyed. Default: `respect`. */
  readonly robots?: 'respect' | 'ignore'
  readonly userAgent?: string
}

/** The name of this program in `robots.txt` files. */
const product = 'daybook'

const defaultUserAgent = 'Daybook (AI agent, reads pages that its users ask for)'

const defaultLimits: TimeLimits = { connectMs: 5_000, headersMs: 10_000, totalMs: 15_000 }

/** Requests pages of the public internet over HTTP. */
export function createFetcher(options: FetcherOptions = {}): Fetcher {
  const { maxBytes = 10 * 1024 * 1024, maxRedirects = 5, robots = 'respect', userAgent = defaultUserAgent } = options
  const limits = { ...defaultLimits, ...options.limits }
  const guard = createGuard(options)
  const robotsOf = createRobotsCache((url, signal) => follow(guard.checkUrl(url), { signal }, 'without robots'))

  async function get(text: string, { signal, accept }: FetchOptions): Promise<FetchResult> {
    signal.throwIfAborted()
    const deadline = AbortSignal.timeout(limits.totalMs)
    try {
      const both = AbortSignal.any([signal, deadline])
      return await follow(guard.checkUrl(text), { signal: both, ...(accept !== undefined && { accept }) }, robots)
    } catch (error) {
      signal.throwIfAborted()
      if (deadline.aborted) return failure('timeout', `the page was not complete within ${limits.totalMs} ms`)
      return failureOf(error)
    }
  }

  /** Follows redirects. Every address on the way is checked like the first one. */
  async function follow(first: URL, options: FetchOptions, mode: 'respect' | 'ignore' | 'without robots'): Promise<FetchResult> {
    let url = first
    for (let redirects = 0; ; redirects++) {
      if (mode === 'respect' && !(await robotsOf.allows(url, options.signal)))
        return failure('robots', `the file robots.txt of ${url.host} asks programs not to read this page`)
      const response = await send(url, options)
      const location = isRedirect(response.statusCode) ? response.headers.location : undefined
      if (location === undefined) return await readResponse(url, response)
      response.destroy()
      if (redirects === maxRedirects) return failure('refused', `the page redirects more than ${maxRedirects} times`)
      url = guard.checkUrl(URL.parse(location, url.href)?.href ?? location)
    }
  }

  async function send(url: URL, { signal, accept = '*/*' }: FetchOptions): Promise<IncomingMessage> {
    const addresses = await guard.resolveHost(url)
    signal.throwIfAborted()
    return sendRequest(url, { accept, userAgent, addresses, limits, signal })
  }

  async function readResponse(url: URL, response: IncomingMessage): Promise<FetchResult> {
    try {
      const { headers, statusCode = 0 } = response
      const [mime = '', ...parameters] = (headers['content-type'] ?? '').split(';')
      const bytes = await readBody(response, headers['content-encoding'], maxBytes)
      const charset = parameters.map((each) => each.trim().toLowerCase()).find((each) => each.startsWith('charset='))
      return {
        ok: true,
        status: statusCode,
        url: url.href,
        mime: mime.trim().toLowerCase(),
        charset: charset?.slice('charset='.length).replaceAll('"', ''),
        lastModified: headers['last-modified'],
        bytes,
      }
    } finally {
      response.destroy()
    }
  }

  return { get }
}

const isRedirect = (status: number | undefined) => status !== undefined && [301, 302, 303, 307, 308].includes(status)

const failure = (reason: FetchFailure['reason'], message: string): FetchFailure => ({ ok: false, reason, message })

function failureOf(error: unknown): FetchFailure {
  if (error instanceof Refusal) return failure('refused', error.message)
  if (error instanceof TooLarge) return failure('too_large', error.message)
  if (error instanceof TimedOut) return failure('timeout', error.message)
  const { code = '' } = error as NodeJS.ErrnoException
  return failure('failed', messages[code] ?? (code.startsWith('Z_') ? 'the body can not be decompressed' : otherMessage(error, code)))
}

/** Messages for the codes of Node. The messages of Node itself contain IP addresses, so they are not shown. */
const messages: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name of the host is not known',
  EAI_AGAIN: 'the name of the host could not be looked up; try again later',
  ECONNREFUSED: 'the host does not accept connections',
  ECONNRESET: 'the host closed the connection',
  CERT_HAS_EXPIRED: 'the certificate of the host has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the host is for another name',
}

const otherMessage = (error: unknown, code: string) =>
  code === '' && error instanceof Error ? `the page could not be requested: ${error.message}` : `the page could not be requested (${code})`

interface RobotsCache {
  allows(url: URL, signal: AbortSignal): Promise<boolean>
}

const robotsCacheMs = 3_600_000
const robotsCacheSize = 500

/** Keeps the rules of the last sites for an hour. `request` fetches the file `robots.txt`, without checking the rules. */
function createRobotsCache(request: (url: string, signal: AbortSignal) => Promise<FetchResult>): RobotsCache {
  const known = new Map<string, { readonly until: number; readonly rules: Promise<RobotsRules> }>()

  async function load(origin: string, signal: AbortSignal): Promise<RobotsRules> {
    const response = await request(`${origin}/robots.txt`, signal)
    if (!response.ok) return [] // the file redirects too often, so the site is treated as one without rules
    if (response.status >= 500) return forbidsEverything
    return response.status >= 400 ? [] : parseRobots(new TextDecoder().decode(response.bytes), product)
  }

  function rulesOf(origin: string, signal: AbortSignal): Promise<RobotsRules> {
    const entry = known.get(origin)
    if (entry && entry.until > Date.now()) return entry.rules
    const rules = load(origin, signal)
    known.delete(origin)
    known.set(origin, { until: Date.now() + robotsCacheMs, rules })
    rules.catch(() => known.delete(origin)) // an error is reported to the caller and is not cached
    const [oldest] = known.keys()
    if (known.size > robotsCacheSize && oldest !== undefined) known.delete(oldest)
    return rules
  }

  return {
    async allows(url, signal) {
      const rules = await rulesOf(url.origin, signal).catch(() => {
        signal.throwIfAborted()
        return rulesOf(url.origin, signal) // the first request may have been aborted by another caller
      })
      return isAllowedByRobots(rules, url.pathname + url.search)
    },
  }
}
