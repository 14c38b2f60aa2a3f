import { missingKeyText, searchProvidersFrom } from '../adapters/web/search/from-keys.ts'
import { searchServices } from '../adapters/web/search/services.ts'
import type { AgentParts } from '../agent/agent.ts'
import type { Settings } from '../config/settings.ts'
import type { DocumentReader } from '../ports/documents.ts'
import type { Tool } from '../tools/tool.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The tools of an agent, including its web tools. `close` ends the threads that read pages. */
export interface OpenWebTools {
  readonly tools: readonly Tool[]
  close(): Promise<void>
}

interface WebToolParts {
  readonly documents: DocumentReader
  readonly model: AgentParts['model']
  readonly environment: Environment
  readonly own: readonly Tool[]
}

/** The address of the archive that the setting `web.archive` switches on. The address of a page is appended to it. */
const archiveAddress = 'https://web.archive.org/web/'

/**
 * Adds the web tools to `own`, the tools of the agent. Adds `web_tools.web_fetch` if `web.fetch` is on, and `web_tools.web_search` if a
 * search service has a key. If `own` has a tool with the same id, that tool is used instead. Throws a `RangeError` if the chosen search
 * service has no key.
 */
export async function openWebTools(
  { web }: { readonly web?: Settings['web'] },
  { documents, model, environment, own }: WebToolParts,
): Promise<OpenWebTools> {
  const none = { tools: own, close: async () => {} }
  if (!web) return none
  const search = searchProvidersFrom(environment, web.search)
  if (search.length === 0 && web.fetch === 'off') return none
  // imported on demand, because most agents do not use the web
  const [{ createFetcher }, { createPageReader }, { createWebTools }] = await Promise.all([
    import('../adapters/web/index.ts'),
    import('../adapters/documents/page/reader.ts'),
    import('../tools/web/index.ts'),
  ])
  const reader = createPageReader()
  const fetcher = createFetcher({ robots: web.robots, allow: listIn(web.allow) })
  const archive = web.archive === 'on' ? { archive: archiveAddress } : {}
  const tools = createWebTools({
    ...(web.fetch === 'on' && { pages: { fetcher, pages: reader, documents, ...archive } }),
    search,
    ...(web.refinement === 'on' && { refiner: { model: 'stream' in model ? model : (model.compaction ?? model.decision) } }),
  })
  const added = tools.filter(({ id }) => !own.some((tool) => tool.id === id))
  return { tools: [...own, ...added], close: () => reader.close() }
}

const listIn = (text = ''): readonly string[] => text.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]))

/** Describes for `daybook doctor` which search services can be used. It does not call them. */
export function checkWebSearch(
  { web }: Pick<Settings, 'web'>,
  environment: Environment,
): { readonly ok: boolean; readonly found: string; readonly advice: string } {
  const variables = Object.values(searchServices).map((service) => service.variables[0])
  const advice = `set one of ${variables.join(', ')}`
  if (web.search === 'off') return { ok: true, found: 'switched off by web.search', advice }
  const names = searchProvidersFrom(environment, 'auto').map(({ name }) => name)
  if (web.search !== 'auto' && !names.some((name) => name === web.search))
    return { ok: false, found: 'no key', advice: missingKeyText(web.search) }
  return names.length === 0 ? { ok: false, found: 'no key set', advice } : { ok: true, found: names.join(', '), advice }
}
