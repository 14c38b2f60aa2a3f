import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import { defineTool } from '../define.ts'
import { failed, succeeded } from '../outcome.ts'
import type { Call, MadeArtifact, Outcome, Tool } from '../tool.ts'
import { storeImage } from './image.ts'
import { mapLimited } from './limit.ts'
import { textList } from './list-parameter.ts'
import { fetchPage, type Page, type PageParts } from './page.ts'
import { type Refiner, refinePages, type Wanted } from './refine.ts'
import { fetchedSource, shownPage } from './rows.ts'

const maxUrls = 20
/** How many images of one call are stored and shown. */
const maxImages = 8
/** How many pages one call requests at the same time. */
export const pagesAtOnce = 5

const params = z.object({
  urls: textList('complete addresses of pages, PDFs or images'),
  objective: z.string().optional().describe('what you want to find out; needed for refinement'),
  refinement: z
    .enum(['none', 'balanced', 'recall', 'precision'])
    .default('none')
    .describe('keep only the passages that matter for the objective'),
})

/** The parts that `web_tools.web_fetch` uses. */
export interface WebFetchOptions extends PageParts {
  /** Chooses the passages that matter for an objective. Without it, the whole text is kept. */
  readonly refiner?: Refiner
}

/** The tool `web_tools.web_fetch`: reads pages and puts their text into the source pool. */
export function createWebFetchTool({ refiner, ...parts }: WebFetchOptions): Tool {
  return defineTool({
    id: 'web_tools.web_fetch',
    description: 'Read web pages, PDFs or images by address. Their full text goes into the source pool; read it with react.read.',
    params,
    strategy: 'exploration',
    repeatable: true,
    callableFromCode: true,
    timeoutMs: 240_000,
    returns: 'an object with one entry per address: sid, title, status, the start of the content and its length',
    constraints: [
      'Only http and https, and only the public internet.',
      'The status says why a page has no text. Do not cite what you have not read.',
    ],
    async run({ urls, objective, refinement }, call) {
      if (urls.length > maxUrls)
        return failed('too_many_urls', `At most ${maxUrls} addresses per call; these are ${urls.length}. Nothing was requested.`)
      const fetched = await mapLimited(urls, pagesAtOnce, (url) => fetchPage(url, parts, call))
      const wanted = refiner && objective && refinement !== 'none' ? { refiner, objective, mode: refinement } : undefined
      return resultOf(urls, wanted ? await withPassages(fetched, wanted, call) : fetched, call)
    },
  })
}

async function withPassages(pages: readonly Page[], wanted: Wanted, call: Call): Promise<readonly Page[]> {
  const texts = pages.map(({ content }) => content)
  const refined = await refinePages(texts, wanted, call)
  return pages.map((page, index) => ({ ...page, content: refined[index]?.content ?? page.content }))
}

async function resultOf(urls: readonly string[], pages: readonly Page[], call: Call): Promise<Outcome> {
  const now = call.clock.now()
  const entries: (readonly [url: string, shown: Json])[] = []
  const sources: IncomingSource[] = []
  const artifacts: MadeArtifact[] = []
  for (const [index, url] of urls.entries()) {
    const page = pages[index] as Page // `pages` has a page for each address
    const image = page.image && artifacts.length < maxImages ? await storeImage(page.image, index + 1, call) : undefined
    if (image && 'artifact' in image) artifacts.push(image.artifact)
    const source = fetchedSource(url, page, call.timeline.sources, now)
    if (source) sources.push(source)
    entries.push([url, shownPage(source && index + 1, page, image)])
  }
  return succeeded({ output: Object.fromEntries(entries), sources, ...(artifacts.length > 0 && { artifacts }) })
}
