import type { ProblemBody } from '../core/api/problem.ts'

/** The error when a server rejects a request. Programs may depend on `code`. `message` is for people and may change. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly status: number
  readonly code: string
  readonly problem: Partial<ProblemBody>

  constructor(status: number, problem: Partial<ProblemBody>) {
    super(problem.title ?? `the server answered ${status}`)
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.problem = problem
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
  // throws now for an invalid address; otherwise `follow` would retry without end
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
    if (!response.ok) throw new RequestRefused(response.status, await parseProblem(response))
    return response
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
