import type { ProblemBody } from '../core/api/problem.ts'

/** The error when a server rejects a request. Programs may depend on `code`. `message` is for people and may change. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly status: number
  readonly code: string
  readonly problem: Partial<ProblemBody>
  /** After how many seconds the request may be sent again. Undefined if the server has not sent this number. */
  readonly retryAfter: number | undefined

  constructor(status: number, problem: Partial<ProblemBody>, retryAfter?: number) {
    super(problem.title ?? `the server answered ${status}`)
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.problem = problem
    this.retryAfter = retryAfter
  }
}

/** The address of the server, and the token of the client. */
export interface ClientOptions {
  /** The address of the server, such as `http://127.0.0.1:4127`. */
  readonly baseUrl: string
  /** A bearer token, or a function that returns one. The function is called before every request. */
  readonly token?: string | (() => string | Promise<string>)
  readonly fetch?: typeof globalThis.fetch
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly json?: unknown
  readonly form?: FormData
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export type Request = (path: string, options?: RequestOptions) => Promise<Response>

/** Creates a function that sends requests to one server. It resolves to the response, and rejects if the response is an error. */
export function createRequest({ baseUrl, token, fetch = globalThis.fetch }: ClientOptions): Request {
  // throws here for an invalid address. Otherwise `follow` would retry without end
  const base = new URL(baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`)
  return async (path, { method = 'GET', query = {}, json, form, headers, signal } = {}) => {
    const url = new URL(path.replace(/^\//, ''), base)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
    const bearer = typeof token === 'function' ? await token() : token
    const body = json === undefined ? form : JSON.stringify(json)
    const response = await fetch(url, {
      method,
      headers: {
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    })
    if (!response.ok) throw new RequestRefused(response.status, await parseProblem(response), retryAfterOf(response))
    return response
  }
}

function retryAfterOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

/** After this many milliseconds, `repeatWhileOverloaded` stops trying and throws. */
const MAX_OVERLOAD_MS = 120_000

/**
 * Repeats a request while the server answers that it has too much to do. It waits as long as the server says, plus a random time, so that
 * clients that were refused at the same time do not retry at the same time. The server has stored nothing of a refused request.
 */
export async function repeatWhileOverloaded<T>(send: () => Promise<T>): Promise<T> {
  const latest = Date.now() + MAX_OVERLOAD_MS
  for (;;) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.code !== 'server.overloaded') throw error
      const waitMs = (error.retryAfter ?? 1) * 1000 * (1 + Math.random() / 2)
      if (Date.now() + waitMs > latest) throw error
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}

async function parseProblem(response: Response): Promise<Partial<ProblemBody>> {
  try {
    const body: unknown = await response.json()
    return typeof body === 'object' && body !== null ? body : {}
  } catch {
    return {} // the response may come from a proxy, whose body is not JSON
  }
}
