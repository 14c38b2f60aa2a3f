import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errorMessage } from '../core/failure.ts'
import { type AgentDefinition, defineAgent } from '../wiring/define-agent.ts'

/**
 * Loads the agent that a module exports as `agent` or as its default. The export is the definition of an agent, or a function that returns
 * one.
 */
export async function loadAgentModule(file: string, folder: string): Promise<AgentDefinition> {
  const path = resolve(folder, file)
  try {
    const module = (await import(pathToFileURL(path).href)) as { readonly agent?: unknown; readonly default?: unknown }
    const exported = module.agent ?? module.default
    const definition: unknown = typeof exported === 'function' ? await exported() : exported
    if (typeof definition === 'object' && definition !== null) return defineAgent(definition)
  } catch (error) {
    throw new RangeError(`cannot load ${file}: ${loadFailureText(path, error)}`, { cause: error })
  }
  throw new RangeError(`${file} must export \`agent\`, such as: export const agent = defineAgent({ tools: [] })`)
}

function loadFailureText(path: string, error: unknown): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 'there is no such file'
  if (found.isDirectory()) return 'it is a folder; name a file in it'
  const place = placeIn(path, error)
  return place === undefined ? errorMessage(error) : `${errorMessage(error)} (line ${place})`
}

/** The line of the module in which the error was thrown. Undefined when the stack of the error does not name the module. */
function placeIn(path: string, error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  for (const address of [pathToFileURL(path).href, path]) {
    const at = stack.indexOf(`${address}:`)
    if (at >= 0) return /^\d+/.exec(stack.slice(at + address.length + 1, at + address.length + 12))?.[0]
  }
  return undefined
}

/** Imports a configuration file and returns its default export. */
export async function importConfiguration(file: string): Promise<unknown> {
  const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  return module.default
}
