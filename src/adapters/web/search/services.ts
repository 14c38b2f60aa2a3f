import { dateInWords, isoDate, timeBefore } from '../../../core/dates.ts'
import { isObject } from '../../../core/json.ts'
import type { Freshness, SearchHit, SearchProvider, SearchRequest } from '../../../ports/web.ts'
import { callService, resultList, type ServiceCall } from './call.ts'
import { toHit } from './hit.ts'

/** The names of the search services, in the order in which they are used if several have a key. */
export const searchServiceNames = ['brave', 'tavily', 'exa', 'serper', 'searxng'] as const
/** The name of a search service. */
export type SearchServiceName = (typeof searchServiceNames)[number]

/** A search service that Daybook can use. */
export interface SearchService {
  /** The name of the service for people. */
  readonly title: string
  /** The environment variables that may contain the key, or the address for SearXNG. Messages mention the first one. */
  readonly variables: readonly string[]
  readonly authority: number
  readonly address: string
  call(request: SearchRequest, access: Access): Omit<ServiceCall, 'service'>
  hits(response: Readonly<Record<string, unknown>>): readonly (SearchHit | undefined)[]
}

interface Access {
  readonly key: string
  /** The address of the service, without a slash at the end. */
  readonly address: string
}

/** Options of `createSearchProvider`. */
export interface SearchServiceOptions {
  /** The key of the service. For `searxng` it is the address of the server. */
  readonly key: string
  /** Another address of the service, for a proxy. */
  readonly address?: string
}

/** A search service as a provider for `web_tools.web_search`. */
export function createSearchProvider(name: SearchServiceName, { key, address }: SearchServiceOptions): SearchProvider {
  const service = searchServices[name]
  const base = withoutSlash(address ?? (name === 'searxng' ? key : service.address))
  if (!URL.canParse(base)) throw new RangeError(`the address of ${service.title} must be complete, such as https://search.example`)
  return {
    name,
    authority: service.authority,
    async search(request, signal) {
      const response = await callService({ service: service.title, ...service.call(request, { key, address: base }) }, signal)
      return service.hits(response).filter((hit) => hit !== undefined)
    },
  }
}

const withoutSlash = (address: string) => (address.endsWith('/') ? address.slice(0, -1) : address)

/** An address with a query. Parameters without a value are left out. */
function withQuery(address: string, parameters: Readonly<Record<string, string | undefined>>): URL {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  return url
}

const letterOf: Readonly<Record<Freshness, string>> = { day: 'd', week: 'w', month: 'm', year: 'y' }

export const searchServices: Readonly<Record<SearchServiceName, SearchService>> = {
  brave: {
    title: 'Brave Search',
    variables: ['BRAVE_API_KEY', 'BRAVE_SEARCH_API_KEY'],
    authority: 2,
    address: 'https://api.search.brave.com',
    call: ({ query, count, freshness, country, safesearch }, { key, address }) => ({
      url: withQuery(`${address}/res/v1/web/search`, {
        q: query,
        count: `${Math.min(20, count)}`,
        safesearch,
        freshness: freshness && `p${letterOf[freshness]}`,
        country,
      }),
      headers: { 'x-subscription-token': key },
      keyStatus: [422], // Brave also reports a key that does not exist as an invalid request
    }),
    hits: ({ web }) =>
      resultList('Brave Search', isObject(web) ? web.results : web).map(({ url, title, description, page_age, meta_url }) =>
        toHit({
          url,
          title,
          text: description,
          published: isoDate(page_age),
          favicon: isObject(meta_url) ? meta_url.favicon : undefined,
        }),
      ),
  },
  tavily: {
    title: 'Tavily',
    variables: ['TAVILY_API_KEY'],
    authority: 3,
    address: 'https://api.tavily.com',
    call: ({ query, count, freshness, country }, { key, address }) => ({
      url: new URL(`${address}/search`),
      headers: { authorization: `Bearer ${key}` },
      body: {
        query,
        max_results: Math.min(20, count),
        search_depth: 'basic',
        topic: 'general',
        include_favicon: true,
        ...(freshness && { time_range: freshness }),
        ...(country && { country: countryName(country) }),
      },
      limitStatus: [432, 433], // the limits of the plan
    }),
    hits: ({ results }) =>
      resultList('Tavily', results).map(({ url, title, content, score, published_date, favicon }) =>
        toHit({ url, title, text: content, score, published: isoDate(published_date), favicon }),
      ),
  },
  exa: {
    title: 'Exa',
    variables: ['EXA_API_KEY'],
    authority: 3,
    address: 'https://api.exa.ai',
    call: ({ query, count, freshness, country, safesearch }, { key, address }) => ({
      url: new URL(`${address}/search`),
      headers: { 'x-api-key': key },
      body: {
        query,
        numResults: count,
        type: 'auto',
        contents: { highlights: true },
        ...(freshness && { startPublishedDate: timeBefore(Date.now(), freshness) }),
        ...(country && { userLocation: country }),
        ...(safesearch === 'strict' && { moderation: true }),
      },
    }),
    hits: ({ results }) =>
      resultList('Exa', results).map(({ url, title, highlights, text, score, publishedDate, favicon }) =>
        toHit({
          url,
          title,
          text:
            Array.isArray(highlights) && highlights.length > 0 ? highlights.filter((each) => typeof each === 'string').join(' … ') : text,
          score,
          published: isoDate(publishedDate),
          favicon,
        }),
      ),
  },
  serper: {
    title: 'Serper',
    variables: ['SERPER_API_KEY'],
    authority: 4,
    address: 'https://google.serper.dev',
    call: ({ query, count, freshness, country }, { key, address }) => ({
      url: new URL(`${address}/search`),
      headers: { 'x-api-key': key },
      body: {
        q: query,
        num: count,
        ...(country && { gl: country.toLowerCase() }),
        ...(freshness && { tbs: `qdr:${letterOf[freshness]}` }),
      },
    }),
    hits: ({ organic }) =>
      resultList('Serper', organic).map(({ link, title, snippet, date }) =>
        toHit({ url: link, title, text: snippet, published: dateInWords(date, Date.now()) }),
      ),
  },
  searxng: {
    title: 'SearXNG',
    variables: ['SEARXNG_URL'],
    authority: 1,
    address: '',
    call: ({ query, freshness, safesearch }, { address }) => ({
      url: withQuery(`${address}/search`, {
        q: query,
        format: 'json',
        safesearch: { off: '0', moderate: '1', strict: '2' }[safesearch],
        time_range: freshness === 'week' ? 'month' : freshness, // older versions know no week
      }),
      headers: {},
    }),
    hits: ({ results }) =>
      resultList('SearXNG', results).map(({ url, title, content, publishedDate }) =>
        toHit({ url, title, text: content, published: isoDate(publishedDate) }),
      ),
  },
}

/** The English name of a country in lower case, such as `germany` for `DE`. */
function countryName(code: string): string {
  return (new Intl.DisplayNames(['en'], { type: 'region' }).of(code) ?? code).toLowerCase()
}
