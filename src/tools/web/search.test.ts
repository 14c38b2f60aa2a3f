import { afterEach, describe, expect, it } from 'vitest'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { type FakeAnswer, type FakePage, type FakeSearch, startSearch } from '../../../test/support/web/fake-search.ts'
import { type LocalSite, startSite } from '../../../test/support/web/local-site.ts'
import { createPageReader } from '../../adapters/documents/page/reader.ts'
import { createFetcher } from '../../adapters/web/fetcher.ts'
import type { SearchServiceName } from '../../adapters/web/search/services.ts'
import type { SearchProvider } from '../../ports/web.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { createWebSearchTool, type WebSearchOptions } from './search.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

async function service(name: SearchServiceName, answers: Readonly<Record<string, FakeAnswer>>): Promise<FakeSearch> {
  const fake = await startSearch(name, answers)
  closing.push(() => fake.close())
  return fake
}

const found = (name: string, more: Partial<FakePage> = {}): FakePage => ({
  url: `https://a.example/${name}`,
  title: name,
  text: `about ${name}`,
  ...more,
})

interface Row {
  readonly sid: number
  readonly url: string
  readonly title: string
  readonly text: string
  readonly weighted_rank: number
}

async function run(params: object, options: WebSearchOptions) {
  const fixture = await toolFixture([])
  const problems: unknown[] = []
  const call = { ...fixture.call, onProblem: (problem: unknown) => void problems.push(problem) }
  const outcome = await createWebSearchTool(options).run(params as Record<string, unknown>, call)
  return { ...outcome, rows: (outcome.output ?? []) as unknown as readonly Row[], problems }
}
const names = (rows: readonly Row[]) => rows.map(({ url }) => url.slice('https://a.example/'.length))

describe('a search', () => {
  it('sends every query by itself, and returns each page once with its rank', async () => {
    const brave = await service('brave', {
      'red doors': [found('red doors'), found('both'), found('third')],
      'blue doors': [found('blue doors'), found('both?utm_source=x')],
    })
    const { rows, sources, ok } = await run({ queries: ['red doors', 'blue doors', ' red doors '] }, { providers: [brave.provider()] })
    expect(ok).toBe(true)
    expect(brave.requests.map(({ query }) => query.q).sort()).toEqual(['blue doors', 'red doors'])
    expect(names(rows).sort()).toEqual(['blue doors', 'both', 'red doors', 'third'])
    expect(rows.map(({ sid }) => sid)).toEqual([1, 2, 3, 4])
    expect(rows.map(({ weighted_rank }) => weighted_rank)).toEqual(rows.map(({ weighted_rank }) => weighted_rank).toSorted((a, b) => b - a))
    expect(Object.keys(rows[0] ?? {})).toEqual(['sid', 'title', 'url', 'text', 'weighted_rank'])
    expect(sources?.[0]).toMatchObject({
      source_type: 'web',
      authority: 'web',
      domain: 'a.example',
      provider_rank: 1,
      query_relevance: 1,
    })
    expect(sources?.every((source) => !('provider' in source))).toBe(true)
  })

  it('leaves out addresses with a password, which must not become sources', async () => {
    const brave = await service('brave', { doors: [found('x', { url: 'https://me:word@a.example/x' }), found('y')] })
    const { rows, sources } = await run({ queries: 'doors' }, { providers: [brave.provider()] })
    expect(names(rows)).toEqual(['y'])
    expect(JSON.stringify(sources)).not.toContain('word')
  })

  it('accepts queries as JSON in a text, and returns nothing without a query', async () => {
    const brave = await service('brave', { a: [found('a')], b: [found('b')] })
    const providers = [brave.provider()]
    expect(names((await run({ queries: '["a","b"]' }, { providers })).rows).sort()).toEqual(['a', 'b'])
    expect(await run({ queries: [' '] }, { providers })).toMatchObject({ ok: true, rows: [], output: [] })
  })

  it.each([
    [0, 1],
    [-3, 1],
    [2.4, 2],
    [undefined, 8],
    [99, 20],
  ])('n = %s asks for %i results', async (n, count) => {
    const brave = await service('brave', { a: Array.from({ length: 30 }, (_, index) => found(`p${index}`)) })
    const { rows } = await run({ queries: 'a', ...(n !== undefined && { n }) }, { providers: [brave.provider()] })
    expect(rows).toHaveLength(count)
    expect(brave.requests[0]?.query.count).toBe(`${count}`)
  })

  it('shows at most 500 characters of a text', async () => {
    const brave = await service('brave', { a: [found('a', { text: 'word '.repeat(300) })] })
    const { rows, sources } = await run({ queries: 'a' }, { providers: [brave.provider()] })
    expect(rows[0]?.text).toHaveLength(500)
    expect(sources?.[0]?.text?.length).toBeGreaterThan(1_000)
  })

  it('ranks pages for the objective and newer pages higher', async () => {
    const brave = await service('brave', {
      doors: [found('old doors'), found('new doors', { published: '2025-01-01T00:00:00' }), found('doors of oak')],
    })
    const { sources } = await run({ queries: 'doors', objective: 'oak' }, { providers: [brave.provider()] })
    expect(sources?.find(({ title }) => title === 'doors of oak')).toMatchObject({ objective_relevance: 1, query_relevance: 1 })
    expect(sources?.find(({ title }) => title === 'new doors')).toMatchObject({ published_time_iso: '2025-01-01T00:00:00Z' })
  })
})

describe('a service that fails', () => {
  it('tools 18.97: the next service is used; if all fail, the result says so and has an empty list', async () => {
    const brave = await service('brave', { a: 'down' })
    const exa = await service('exa', { a: [found('a')] })
    const second = await run({ queries: 'a' }, { providers: [brave.provider(), exa.provider()] })
    expect(second).toMatchObject({ ok: true, problems: [{ where: 'web search with brave' }] })
    expect(names(second.rows)).toEqual(['a'])

    const tavily = await service('tavily', { a: 'rate_limit' })
    const none = await run(
      { queries: ['a', 'a b'] },
      { providers: [(await service('brave', { a: 'down', 'a b': 'html' })).provider(), tavily.provider('wrong')] },
    )
    expect(none).toMatchObject({
      ok: false,
      output: [],
      error: {
        code: 'SearchBackendError',
        message: expect.stringMatching(/^No search service answered: Brave Search failed \(status 502\)/),
      },
    })
  })

  it('is a warning if other queries worked', async () => {
    const brave = await service('brave', { good: [found('good')], bad: 'wrong_shape' })
    const { ok, rows, notices } = await run({ queries: ['good', 'bad'] }, { providers: [brave.provider()] })
    expect(ok).toBe(true)
    expect(names(rows)).toEqual(['good'])
    expect(notices).toEqual([{ code: 'tool_call_warning.search_failed', message: expect.stringContaining('"bad"') }])
  })

  it('is asked again if it wants only a short pause', async () => {
    const brave = await service('brave', { a: 'rate_limit_once' })
    expect(await run({ queries: 'a' }, { providers: [brave.provider()] })).toMatchObject({ ok: true, output: [] })
    expect(brave.requests).toHaveLength(2)
  })

  it('is not asked again if it wants a long pause', async () => {
    const brave = await service('brave', { a: 'rate_limit' })
    expect(await run({ queries: 'a' }, { providers: [brave.provider()] })).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('wait 7 s') },
    })
    expect(brave.requests).toHaveLength(1)
  })

  it('may be a service of the application that throws any value', async () => {
    const own: SearchProvider = { name: 'own', authority: 0, search: () => Promise.reject(new Error('password=hunter22 is wrong')) }
    const { error } = await run({ queries: 'a' }, { providers: [own] })
    expect(error?.code).toBe('SearchBackendError')
    expect(error?.message).not.toContain('hunter22')
  })

  it('a search needs at least one service, and refuses too many queries', async () => {
    expect(() => createWebSearchTool({ providers: [] })).toThrow(/at least one/)
    const brave = await service('brave', {})
    const queries = Array.from({ length: 21 }, (_, n) => `q${n}`)
    expect(await run({ queries }, { providers: [brave.provider()] })).toMatchObject({ ok: false, error: { code: 'too_many_queries' } })
    expect(brave.requests).toEqual([])
  })
})

describe('the pages that were found', () => {
  const words = (about: string) => `${about} has a long text, with commas, and more of it. `.repeat(30).trim()

  async function setUp(): Promise<{ readonly site: LocalSite; readonly options: WebSearchOptions }> {
    const site = await startSite({
      '/a': `<title>A page</title><article><p>${words('The first')}</p></article>`,
      '/b': `<article><p>${words('The second')}</p></article>`,
    })
    const reader = createPageReader()
    closing.push(
      () => site.close(),
      () => reader.close(),
    )
    const hits = ['/a', '/b', '/gone'].map((path) => ({ url: site.url(path), title: `title ${path}`, text: `snippet ${path}` }))
    const brave = await service('brave', { x: [...hits, { url: 'http://10.0.0.1/', title: 'inside', text: 'private thing' }] })
    return { site, options: { providers: [brave.provider()], pages: { fetcher: createFetcher({ allow: [site.host] }), pages: reader } } }
  }

  it('are read, and a page that can not be read keeps the text of the service', async () => {
    const { site, options } = await setUp()
    const { sources, rows } = await run({ queries: 'x' }, options)
    const byUrl = new Map(sources?.map((source) => [source.url, source]))
    expect(byUrl.get(site.url('/a'))).toMatchObject({
      title: 'title /a',
      text: 'snippet /a',
      content: words('The first'),
      fetch_status: 'success',
    })
    expect(byUrl.get(site.url('/gone'))).toMatchObject({ text: 'snippet /gone' })
    expect(byUrl.get(site.url('/gone'))).not.toHaveProperty('content')
    expect(byUrl.get('http://10.0.0.1/')).not.toHaveProperty('content')
    expect(JSON.stringify(rows)).not.toContain('with commas') // the body is only in the pool
  })

  it('that do not matter for the objective are left out, if a model decides that', async () => {
    const { site, options } = await setUp()
    const model = scriptedModel([(request) => `{"${pageNumber(request.parts, 'The second')}":[]}`])
    const { sources } = await run({ queries: 'x', objective: 'the second' }, { ...options, refiner: { model } })
    expect(sources?.map(({ url }) => url).sort()).toEqual([site.url('/b'), site.url('/gone'), 'http://10.0.0.1/'].sort())
  })
})

/** The number that a page with this text has in the prompt. */
function pageNumber(parts: readonly object[], text: string): string {
  const prompt = JSON.stringify(parts)
  return /number=\\"(\d+)\\"/.exec(prompt.slice(0, prompt.indexOf(text)).split('<page ').at(-1) ?? '')?.[1] ?? ''
}
