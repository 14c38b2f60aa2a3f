import type { SearchProvider } from '../../ports/web.ts'
import type { Tool } from '../tool.ts'
import { createWebFetchTool } from './fetch.ts'
import type { PageParts } from './page.ts'
import type { Refiner } from './refine.ts'
import { createWebSearchTool } from './search.ts'

/** The parts of the web tools. A tool whose parts are missing is left out. */
export interface WebToolOptions {
  /** Needed for `web_tools.web_fetch`. With it, `web_tools.web_search` also reads the pages that it finds. */
  readonly pages?: PageParts
  /** Needed for `web_tools.web_search`: search services in the order in which they are tried. */
  readonly search?: readonly SearchProvider[]
  /** Chooses the passages of pages that matter for an objective. Its model calls are not part of the costs of the conversation. */
  readonly refiner?: Refiner
}

/** The tools `web_tools.web_search` and `web_tools.web_fetch`. */
export function createWebTools({ pages, search = [], refiner }: WebToolOptions): readonly Tool[] {
  const shared = refiner ? { refiner } : {}
  return [
    ...(search.length > 0 ? [createWebSearchTool({ providers: search, ...(pages && { pages }), ...shared })] : []),
    ...(pages ? [createWebFetchTool({ ...pages, ...shared })] : []),
  ]
}
