import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeSearch, fakeKey, startSearch } from '../../../../test/support/web/fake-search.ts'
import type { SearchRequest } from '../../../ports/web.ts'
import { missingKeyText, searchProvidersFrom } from './from-keys.ts'
import { createSearchProvider, searchServiceNames, searchServices } from './services.ts'

const signal = new AbortController().signal
const ask = (query: string, more: Partial<SearchRequest> = {}): SearchRequest => ({ query, count: 5, safesearch: 'moderate', ...more })

describe.each(searchServiceNames)('%s', (name) => {
  let fake: FakeSearch
  beforeAll(async () => {
    fake = await startSearch(name, {
      cats: [
        { url: 'https://a.example/1', title: 'Cats & dogs', text: 'Cats sleep & eat.', score: 0.9, published: '2026-03-05T00:00:00' },
        { url: 'https://a.example/2', title: 'More', text: 'Nothing else.' },
        { url: 'javascript:alert(1)', title: 'Bad', text: 'x y' },
        { url: '', title: 'None', text: 'x y' },
      ],
      much: 'rate_limit',
      down: 'down',
      html: 'html',
      shape: 'wrong_shape',
      nothing: 'no_list',
      cut: 'cut_off',
      away: 'redirect',
    })
  })
  afterAll(() => fake.close())

  it('returns the web pages of a response', async () => {
    const [first, ...rest] = await fake.provider().search(ask('cats'), signal)
    const extra = {
      ...((name === 'tavily' || name === 'exa') && { score: 0.9 }),
      ...(name !== 'serper' && name !== 'searxng' && { favicon: 'https://imgs.example/f.ico' }),
    }
    const published = '2026-03-05T00:00:00Z'
    expect(first).toEqual({ url: 'https://a.example/1', title: 'Cats & dogs', text: 'Cats sleep & eat.', published, ...extra })
    expect(rest.map(({ url, text }) => [url, text])).toEqual([['https://a.example/2', 'Nothing else.']])
  })

  it('returns nothing when nothing was found', async () => {
    expect(await fake.provider().search(ask('unknown'), signal)).toEqual([])
    expect(await fake.provider().search(ask('nothing'), signal)).toEqual([])
  })

  it('reports a limit with the time to wait', async () => {
    const seconds = 7
    await expect(fake.provider().search(ask('much'), signal)).rejects.toMatchObject({
      name: 'SearchFailure',
      problem: 'rate_limit',
      retryAfterSeconds: seconds,
      message: expect.stringContaining(searchServices[name].title),
    })
  })

  it.each([
    ['down', 'unavailable'],
    ['away', 'unavailable'],
    ['html', 'malformed'],
    ['shape', 'malformed'],
    ['cut', 'malformed'],
  ] as const)('reports what is wrong: %s is %s', async (query, problem) => {
    await expect(fake.provider().search(ask(query), signal)).rejects.toMatchObject({ name: 'SearchFailure', problem })
  })

  it('reports a wrong key without showing it', async () => {
    if (name === 'searxng') return // this service has no key
    const failure = await fake
      .provider('sk-wrong-key-0123456789')
      .search(ask('cats'), signal)
      .catch((error: Error) => error)
    expect(failure).toMatchObject({ name: 'SearchFailure', problem: 'key' })
    expect(String(failure)).not.toContain('0123456789')
  })

  it('reports a service that can not be reached', async () => {
    const gone = createSearchProvider(name, { key: 'http://127.0.0.1:9', address: 'http://127.0.0.1:9' })
    await expect(gone.search(ask('cats'), signal)).rejects.toMatchObject({ problem: 'unavailable' })
  })

  it('stops when its signal is aborted', async () => {
    const stopped = AbortSignal.abort(new Error('stop'))
    await expect(fake.provider().search(ask('cats'), stopped)).rejects.toThrow('stop')
  })

  it('gets the number of results, the freshness, the country and the safe search level of a query', async () => {
    await fake.provider().search(ask('cats', { count: 20, freshness: 'week', country: 'DE', safesearch: 'strict' }), signal)
    const { query, body } = fake.requests.at(-1) ?? {}
    const since = Date.now() - 7 * 24 * 3_600_000
    const expected = {
      brave: { q: 'cats', count: '20', safesearch: 'strict', freshness: 'pw', country: 'DE' },
      tavily: {
        query: 'cats',
        max_results: 20,
        search_depth: 'basic',
        topic: 'general',
        include_favicon: true,
        time_range: 'week',
        country: 'germany',
      },
      exa: {
        query: 'cats',
        numResults: 20,
        type: 'auto',
        contents: { highlights: true },
        userLocation: 'DE',
        moderation: true,
        startPublishedDate: expect.any(String),
      },
      serper: { q: 'cats', num: 20, gl: 'de', tbs: 'qdr:w' },
      searxng: { q: 'cats', format: 'json', safesearch: '2', time_range: 'month' },
    }[name]
    expect({ ...query, ...body }).toEqual(expected)
    if (name === 'exa') expect(Math.abs(Date.parse(String(body?.startPublishedDate)) - since)).toBeLessThan(60_000)
  })
})

describe('the services whose keys are set', () => {
  const names = (environment: Record<string, string>, choice?: Parameters<typeof searchProvidersFrom>[1]) =>
    searchProvidersFrom(environment, choice).map(({ name }) => name)

  it('are used in a fixed order, and the chosen one first', () => {
    const all = {
      SERPER_API_KEY: 'k',
      EXA_API_KEY: 'k',
      TAVILY_API_KEY: 'k',
      BRAVE_SEARCH_API_KEY: 'k',
      SEARXNG_URL: 'http://127.0.0.1:8888/',
    }
    expect(names(all)).toEqual(['brave', 'tavily', 'exa', 'serper', 'searxng'])
    expect(names(all, 'serper')).toEqual(['serper', 'brave', 'tavily', 'exa', 'searxng'])
    expect(names(all, 'off')).toEqual([])
    expect(names({ EXA_API_KEY: 'k', BRAVE_API_KEY: ' ' })).toEqual(['exa'])
    expect(names({})).toEqual([])
  })

  it('must include the chosen one: the error is one line with the name of the variable', () => {
    expect(() => names({ EXA_API_KEY: 'k' }, 'brave')).toThrow(missingKeyText('brave'))
    expect(missingKeyText('brave')).toBe(
      'web search with Brave Search needs a key: set BRAVE_API_KEY, or choose another service with DAYBOOK_WEB_SEARCH',
    )
    expect(missingKeyText('searxng')).toContain('SEARXNG_URL')
  })

  it('have an address that is complete', () => {
    expect(() => names({ SEARXNG_URL: 'search.example' })).toThrow(RangeError)
  })

  it('get their key in a header and never in the address', async () => {
    const fake = await startSearch('brave', { x: [] })
    await fake.provider().search(ask('x'), signal)
    expect(JSON.stringify(fake.requests[0]?.query)).not.toContain(fakeKey)
    await fake.close()
  })
})
