import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { Notice } from '../../core/block/index.ts'
import { InvalidOption } from '../../core/options.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import { SearchFailure, type SearchHit, type SearchProvider, type SearchRequest } from '../../ports/web.ts'
import { defineTool } from '../define.ts'
import { messageForModel } from '../invoke.ts'
import { failed, succeeded } from '../outcome.ts'
import type { Call, Tool } from '../tool.ts'
import { pagesAtOnce } from './fetch.ts'
import { type FoundHit, type HitList, mergeHits } from './hits.ts'
import { mapLimited } from './limit.ts'
import { textList } from './list-parameter.ts'
import { fetchPage, type Page, type PageParts } from './page.ts'
import { freshnessOf, relevanceOf, round, weightedRank } from './rank.ts'
import { type Refiner, refinePages } from './refine.ts'
import { domainOf, hasUserInfo, pageFields, shownHit } from './rows.ts'

const maxQueries = 20
const queriesAtOnce = 8
const maxResults = 20

const params = z.object({
  queries: textList('one query or several; each is searched by itself'),
  objective: z.string().optional().describe('what you want to find out, in a sentence'),
  n: z.number().default(8).describe('how many results, 1 to 20'),
  freshness: z.enum(['day', 'week', 'month', 'year']).optional().describe('only pages that are at most this old'),
  country: z
    .string()
    .regex(/^[A-Za-z]{2}$/)
    .optional()
    .describe('two letters, such as DE'),
  safesearch: z.enum(['off', 'moderate', 'strict']).default('moderate'),
})

/** The parts that `web_tools.web_search` uses. */
export interface WebSearchOptions {
  /** The services in the order in which they are tried. */
  readonly providers: readonly SearchProvider[]
  /** Reads the pages that were found. Without it, a result has only the text of the search service. */
  readonly pages?: PageParts
  readonly refiner?: Refiner
}

/** The tool `web_tools.web_search`: searches the web and puts the pages into the source pool. */
export function createWebSearchTool({ providers, pages, refiner }: WebSearchOptions): Tool {
  if (providers.length === 0) throw new InvalidOption('createWebSearchTool', 'providers', 'it needs at least one search provider')
  return defineTool({
    id: 'web_tools.web_search',
    description: `Search the web. The pages${pages ? ' with their text' : ''} go into the source pool and can be cited; read them with react.read.`,
    params,
    strategy: 'exploration',
    repeatable: true,
    callableFromCode: true,
    timeoutMs: 240_000,
    returns: 'a list of results, best first: sid, title, url, the start of the text, weighted_rank',
    async run({ queries, objective, n, freshness, country, safesearch }, call) {
      if (queries.length > maxQueries)
        return failed('too_many_queries', `At most ${maxQueries} queries per call; these are ${queries.length}. Nothing was searched.`)
      if (queries.length === 0) return succeeded({ output: [] })
      const count = Math.min(maxResults, Math.max(1, Math.round(n)))
      const request = { count, safesearch, ...(freshness && { freshness }), ...(country && { country: country.toUpperCase() }) }
      const searches = await mapLimited(queries, queriesAtOnce, (query) => searchQuery({ ...request, query }, providers, call))
      const problems = searches.flatMap((search) => search.problems)
      if (searches.every(({ list }) => list === undefined)) return failed('SearchBackendError', allFailedText(problems), { output: [] })
      const hits = mergeHits(searches.flatMap(({ list }) => list ?? []))
        .filter(({ url }) => !hasUserInfo(url))
        .slice(0, count)
      const found = await readHits(hits, pages, refiner && objective ? { refiner, objective } : undefined, call)
      const sources = rankedSources(found, queries, objective, call.clock.now())
      const failures = queries.filter((_, index) => searches[index]?.list === undefined)
      return succeeded({
        output: sources.map((source, index) => shownHit(index + 1, source)),
        sources,
        ...(failures.length > 0 && { notices: [partlyFailed(failures, problems)] }),
      })
    },
  })
}

interface QueryResult {
  /** Undefined when every service failed. */
  readonly list: HitList | undefined
  readonly problems: readonly string[]
}

/** Searches with the first service that works. */
async function searchQuery(request: SearchRequest, providers: readonly SearchProvider[], call: Call): Promise<QueryResult> {
  const problems: string[] = []
  for (const provider of providers) {
    try {
      const hits = await searchWithRetry(provider, request, call.signal)
      return { list: { authority: provider.authority, hits: hits.slice(0, request.count) }, problems }
    } catch (error) {
      call.signal.throwIfAborted()
      call.onProblem?.({ where: `web search with ${provider.name}`, error })
      problems.push(messageForModel(error))
    }
  }
  return { list: undefined, problems }
}

/** A search waits for a service that asks to be called again within this many seconds. For a longer wait, the next service is used. */
const maxWaitSeconds = 2

async function searchWithRetry(provider: SearchProvider, request: SearchRequest, signal: AbortSignal): Promise<readonly SearchHit[]> {
  try {
    return await provider.search(request, signal)
  } catch (error) {
    const seconds = error instanceof SearchFailure ? error.retryAfterSeconds : undefined
    if (seconds === undefined || seconds > maxWaitSeconds) throw error
    await wait(seconds * 1_000, undefined, { signal })
    return provider.search(request, signal)
  }
}

const reasonsOf = (problems: readonly string[]) => [...new Set(problems)].slice(0, 5).join('; ')

const allFailedText = (problems: readonly string[]) =>
  `No search service answered: ${reasonsOf(problems)}. Go on without the search, or try again later.`

const partlyFailed = (queries: readonly string[], problems: readonly string[]): Notice => ({
  code: 'tool_call_warning.search_failed',
  message: `These queries were not searched: ${queries.map((query) => JSON.stringify(query)).join(', ')}. ${reasonsOf(problems)}.`,
})

interface FoundPage {
  readonly hit: FoundHit
  readonly page: Page | undefined
}

async function readHits(
  hits: readonly FoundHit[],
  parts: PageParts | undefined,
  wanted: { readonly refiner: Refiner; readonly objective: string } | undefined,
  call: Call,
): Promise<readonly FoundPage[]> {
  if (!parts) return hits.map((hit) => ({ hit, page: undefined }))
  const pages = await mapLimited(hits, pagesAtOnce, ({ url }) => fetchPage(url, parts, call))
  const found = hits.map((hit, index) => ({ hit, page: pages[index] as Page }))
  if (!wanted) return found
  const refined = await refinePages(
    pages.map(({ content }) => content),
    { ...wanted, mode: 'balanced' },
    call,
  )
  return found.flatMap(({ hit, page }, index) => {
    const { content, omitted } = refined[index] ?? { content: page.content, omitted: false }
    return omitted ? [] : [{ hit, page: { ...page, content } }]
  })
}

/** The results as sources, best first. The tool gives them no numbers, so a `[[S:1]]` in the text of a page is removed. */
function rankedSources(
  found: readonly FoundPage[],
  queries: readonly string[],
  objective: string | undefined,
  now: string,
): readonly IncomingSource[] {
  const maxProvider = found.reduce((most, { hit }) => Math.max(most, hit.providerRank), 0)
  const rows = found.map(({ hit, page }) => {
    const compared = { title: hit.title, text: `${hit.text} ${page?.content ?? ''}` }
    const query = Math.max(hit.score ?? 0, ...queries.map((each) => relevanceOf(each, compared)))
    const goal = objective === undefined ? undefined : relevanceOf(objective, compared)
    const fields = page ? pageFields(page, now) : {}
    const published = fields.published_time_iso ?? hit.published
    const freshness = freshnessOf(fields.modified_time_iso ?? published, now)
    const favicon = fields.favicon ?? hit.favicon
    return {
      source_type: 'web',
      ...fields,
      title: hit.title || fields.title || hit.url,
      url: hit.url,
      text: hit.text,
      domain: domainOf(hit.url),
      authority: 'web',
      provider_rank: round(hit.providerRank),
      query_relevance: round(query),
      ...(goal !== undefined && { objective_relevance: round(goal) }),
      weighted_rank: weightedRank({ relevance: Math.max(query, goal ?? 0), provider: hit.providerRank, maxProvider, freshness }),
      ...(published !== undefined && { published_time_iso: published }),
      ...(favicon !== undefined && { favicon }),
    } as const
  })
  return rows.toSorted((a, b) => b.weighted_rank - a.weighted_rank)
}
