import { createRequire, registerHooks } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** One import of the user's modules: the file that a command names, and all files that it imports. */
export interface ModuleLoad {
  /** The first load is 1. Each further load imports all files again. */
  readonly number: number
  /** The paths of the user's files in the order in which they were found. A file that is imported but missing is also in the set. */
  readonly files: Set<string>
  /** The import that failed because its target was not found. */
  missingImport?: { readonly specifier: string; readonly importer: string }
  /** How many milliseconds the modules may take. Default: 30 seconds. */
  readonly timeoutMs?: number
}

/** The load to which each module belongs, by the URL of the module in Node. */
const loads = new Map<string, ModuleLoad>()
let hooksInstalled = false

export const createLoad = (number = 1): ModuleLoad => ({ number, files: new Set() })

/**
 * Imports one of the user's files as a part of a load. Node never imports a URL twice, so the modules of later loads have the number of the
 * load in their URL. Packages and the modules of Daybook are imported only once.
 */
export async function importInLoad(path: string, load: ModuleLoad): Promise<object> {
  if (!hooksInstalled) registerHooks({ resolve })
  hooksInstalled = true
  const { cache } = createRequire(import.meta.url)
  if (load.number > 1) for (const file of filesOfAllLoads()) delete cache[file] // CommonJS modules are cached by their path
  return import(addModule(pathToFileURL(path).href, load))
}

const filesOfAllLoads = () => new Set([...loads.values()].flatMap(({ files }) => [...files]))

/** Called for every import. It adds the imports of the user's modules to their load, and leaves all other imports as they are. */
const resolve: Parameters<typeof registerHooks>[0]['resolve'] = (specifier, context, nextResolve) => {
  const load = context.parentURL === undefined ? undefined : loads.get(context.parentURL)
  if (!load) return nextResolve(specifier, context)
  const importer = fileURLToPath(context.parentURL as string) // only URLs of files are in `loads`
  try {
    const resolved = nextResolve(specifier, context)
    return isUserFile(resolved.url) ? { ...resolved, url: addModule(resolved.url, load) } : resolved
  } catch (error) {
    load.missingImport = { specifier, importer }
    if (specifier.startsWith('.')) load.files.add(fileURLToPath(new URL(specifier, context.parentURL)))
    throw error
  }
}

function addModule(address: string, load: ModuleLoad): string {
  const url = new URL(address)
  load.files.add(fileURLToPath(url))
  if (load.number > 1) url.searchParams.set(loadParameter, String(load.number))
  loads.set(url.href, load)
  return url.href
}

const loadParameter = 'daybook-load'

/** Removes the numbers of loads from the stack of an error, so that the stack contains the paths of the user's files. */
export const withoutLoadNumbers = (stack: string): string => stack.replaceAll(/[?&]daybook-load=\d{1,9}/g, '')

const ownFolder = pathToFileURL(dirname(createRequire(import.meta.url).resolve('daybook/package.json'))).href

/** Whether a module belongs to the user's project, and not to a package, to Node or to Daybook. */
function isUserFile(url: string): boolean {
  if (!url.startsWith('file:') || url.includes('/node_modules/')) return false
  return !url.startsWith(`${ownFolder}/src/`) && !url.startsWith(`${ownFolder}/dist/`)
}
