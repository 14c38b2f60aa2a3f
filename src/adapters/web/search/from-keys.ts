import type { SearchProvider } from '../../../ports/web.ts'
import { createSearchProvider, type SearchServiceName, searchServiceNames, searchServices } from './services.ts'

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The search services whose keys are in the environment. `choice` is the service that is used first. With `auto`, this is the first service
 * that has a key. Throws a `RangeError` if the chosen service has no key.
 */
export function searchProvidersFrom(
  environment: Environment,
  choice: SearchServiceName | 'auto' | 'off' = 'auto',
): readonly SearchProvider[] {
  if (choice === 'off') return []
  const names = choice === 'auto' ? searchServiceNames : [choice, ...searchServiceNames.filter((name) => name !== choice)]
  const found = names.flatMap((name) => {
    const key = keyOf(name, environment)
    return key === undefined ? [] : [createSearchProvider(name, { key })]
  })
  if (choice !== 'auto' && found[0]?.name !== choice) throw new RangeError(missingKeyText(choice))
  return found
}

function keyOf(name: SearchServiceName, environment: Environment): string | undefined {
  return searchServices[name].variables
    .map((variable) => environment[variable]?.trim())
    .find((value) => value !== undefined && value !== '')
}

/** One line that says which variable is missing. */
export function missingKeyText(name: SearchServiceName): string {
  const { title, variables } = searchServices[name]
  const what = name === 'searxng' ? 'its address' : 'a key'
  return `web search with ${title} needs ${what}: set ${variables[0]}, or choose another service with DAYBOOK_WEB_SEARCH`
}
