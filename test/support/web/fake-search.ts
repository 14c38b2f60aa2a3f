import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSearchProvider, type SearchServiceName } from '../../../src/adapters/web/search/services.ts'
import type { SearchProvider } from '../../../src/ports/web.ts'

/** A page that a fake service finds. */
export interface FakePage {
  readonly url: string
  readonly title: string
  readonly text: string
  readonly score?: number
  /** `2026-03-05T10:00:00`. */
  readonly published?: string
}

/** How a fake service answers a query: with pages, or with one of the problems that the real service documents. */
export type FakeAnswer =
  | readonly FakePage[]
  | 'rate_limit'
  | 'rate_limit_once'
  | 'down'
  | 'html'
  | 'wrong_shape'
  | 'no_list'
  | 'cut_off'
  | 'redirect'

export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage['headers']
  readonly body: Readonly<Record<string, unknown>>
}

export interface FakeSearch {
  readonly address: string
  readonly requests: readonly FakeRequest[]
  /** A provider that uses this server. */
  provider(key?: string): SearchProvider
  close(): Promise<void>
}

export const fakeKey = 'key-of-the-fake'

interface Format {
  readonly method: string
  readonly path: string
  isAuthorised(request: FakeRequest): boolean
  queryOf(request: FakeRequest): unknown
  results(query: string, pages: readonly FakePage[]): object
  /** The status and the body for a wrong key. */
  readonly wrongKey: readonly [number, object]
  readonly limit: readonly [number, object]
  readonly wrongShape: object
}

/** Starts a server that answers like a search service. `answers` maps queries to answers. */
export async function startSearch(name: SearchServiceName, answers: Readonly<Record<string, FakeAnswer>>): Promise<FakeSearch> {
  const requests: FakeRequest[] = []
  const limited = new Set<string>()
  const format = formats[name]
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming)
    requests.push(request)
    if (request.method !== format.method || request.path !== format.path) return void response.writeHead(404).end('no such path')
    if (!format.isAuthorised(request)) return send(response, format.wrongKey)
    const query = String(format.queryOf(request))
    const answer = answers[query] ?? []
    if (answer === 'rate_limit' || (answer === 'rate_limit_once' && !limited.has(query))) {
      limited.add(query)
      return send(response, format.limit, { 'retry-after': answer === 'rate_limit' ? '7' : '0' })
    }
    if (answer === 'down') return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
    if (answer === 'html') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Please log in.</p>')
    if (answer === 'wrong_shape') return send(response, [200, format.wrongShape])
    if (answer === 'no_list') return send(response, [200, {}])
    if (answer === 'cut_off') return void response.writeHead(200).end('{"results": [')
    if (answer === 'redirect') return void response.writeHead(302, { location: 'https://elsewhere.example/' }).end()
    send(response, [200, format.results(query, answer === 'rate_limit_once' ? [] : answer)])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    address,
    requests,
    provider: (key = fakeKey) => createSearchProvider(name, { key: name === 'searxng' ? address : key, address }),
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  }
}

function send(response: ServerResponse, [status, body]: readonly [number, object], headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

async function readRequest(incoming: IncomingMessage): Promise<FakeRequest> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const url = new URL(incoming.url ?? '/', 'http://fake')
  const text = Buffer.concat(pieces).toString()
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: incoming.headers,
    body: text === '' ? {} : JSON.parse(text),
  }
}

/** What each service documents: how it is called, and what its answers look like. */
const formats: Readonly<Record<SearchServiceName, Format>> = {
  brave: {
    method: 'GET',
    path: '/res/v1/web/search',
    isAuthorised: ({ headers }) => headers['x-subscription-token'] === fakeKey,
    queryOf: ({ query }) => query.q,
    results: (query, pages) => ({
      type: 'search',
      query: { original: query, show_strict_warning: false, more_results_available: true },
      mixed: { type: 'mixed', main: pages.map((_, index) => ({ type: 'web', index, all: false })) },
      web: {
        type: 'search',
        results: pages.map(({ url, title, text, published }) => ({
          title,
          url,
          is_source_local: false,
          description: `<strong>${text.split(' ', 1)[0]}</strong> ${text.split(' ').slice(1).join(' ')}`.replaceAll('&', '&amp;'),
          ...(published && { page_age: published, age: 'March 5, 2026' }),
          profile: { name: 'A', url, long_name: 'a.example', img: 'https://imgs.example/a' },
          language: 'en',
          family_friendly: true,
          type: 'search_result',
          subtype: 'generic',
          meta_url: { scheme: 'https', netloc: 'a.example', hostname: 'a.example', favicon: 'https://imgs.example/f.ico', path: '' },
        })),
        family_friendly: true,
      },
    }),
    wrongKey: [
      422,
      {
        type: 'ErrorResponse',
        error: { id: 'e1', status: 422, code: 'SUBSCRIPTION_TOKEN_INVALID', detail: 'The provided subscription token is invalid.' },
      },
    ],
    limit: [
      429,
      { type: 'ErrorResponse', error: { id: 'e2', status: 429, code: 'RATE_LIMITED', detail: 'Request rate limit exceeded for plan.' } },
    ],
    wrongShape: { web: { results: 'none' } },
  },
  tavily: {
    method: 'POST',
    path: '/search',
    isAuthorised: ({ headers }) => headers.authorization === `Bearer ${fakeKey}`,
    queryOf: ({ body }) => body.query,
    results: (query, pages) => ({
      query,
      follow_up_questions: null,
      answer: null,
      images: [],
      results: pages.map(({ url, title, text, score = 0.5, published }) => ({
        title,
        url,
        content: text,
        score,
        raw_content: null,
        favicon: 'https://imgs.example/f.ico',
        ...(published && { published_date: published }),
      })),
      response_time: 0.97,
      request_id: 'r1',
    }),
    wrongKey: [401, { detail: { error: 'Unauthorized: missing or invalid API key.' } }],
    limit: [432, { detail: { error: "This request exceeds your plan's set usage limit." } }],
    wrongShape: { results: { '0': {} } },
  },
  exa: {
    method: 'POST',
    path: '/search',
    isAuthorised: ({ headers }) => headers['x-api-key'] === fakeKey,
    queryOf: ({ body }) => body.query,
    results: (_, pages) => ({
      requestId: 'b5947044c4b78efa9552a7c89b306d95',
      resolvedSearchType: 'neural',
      results: pages.map(({ url, title, text, score, published }) => ({
        id: url,
        title,
        url,
        publishedDate: published ?? null,
        author: null,
        score: score ?? null,
        highlights: [text],
        highlightScores: [0.46],
        favicon: 'https://imgs.example/f.ico',
      })),
      costDollars: { total: 0.005 },
    }),
    wrongKey: [401, { requestId: 'x', error: 'Invalid API key', tag: 'INVALID_API_KEY' }],
    limit: [429, { requestId: 'x', error: 'You have exceeded your rate limit.' }],
    wrongShape: { results: 7 },
  },
  serper: {
    method: 'POST',
    path: '/search',
    isAuthorised: ({ headers }) => headers['x-api-key'] === fakeKey,
    queryOf: ({ body }) => body.q,
    results: (query, pages) => ({
      searchParameters: { q: query, type: 'search', engine: 'google' },
      organic: pages.map(({ url, title, text, published }, index) => ({
        title,
        link: url,
        snippet: text,
        ...(published && { date: new Date(`${published}Z`).toUTCString().slice(5, 16) }),
        position: index + 1,
      })),
      peopleAlsoAsk: [{ question: 'Why?', snippet: 'Because.', title: 'W', link: 'https://w.example' }],
      credits: 1,
    }),
    wrongKey: [403, { message: 'Unauthorized.', statusCode: 403 }],
    limit: [429, { message: 'Too many requests.', statusCode: 429 }],
    wrongShape: { organic: 'none' },
  },
  searxng: {
    method: 'GET',
    path: '/search',
    isAuthorised: ({ query }) => query.format === 'json',
    queryOf: ({ query }) => query.q,
    results: (query, pages) => ({
      query,
      number_of_results: pages.length,
      results: pages.map(({ url, title, text, published }) => ({
        url,
        title,
        content: text,
        engine: 'duckduckgo',
        engines: ['duckduckgo', 'mojeek'],
        positions: [1],
        score: 4.5,
        category: 'general',
        publishedDate: published ?? null,
        parsed_url: ['https', 'a.example', '/', '', '', ''],
        template: 'default.html',
      })),
      answers: [],
      corrections: [],
      infoboxes: [],
      suggestions: [],
      unresponsive_engines: [['google', 'timeout']],
    }),
    wrongKey: [403, {}],
    limit: [429, {}],
    wrongShape: { results: 'none' },
  },
}
