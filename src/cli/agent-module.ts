import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AgentParts } from '../agent/agent.ts'
import { errorMessage } from '../core/failure.ts'

/**
 * Returns a function that loads the export `agent` of a module. The export is an object with parts of an agent, or a function that returns
 * such an object.
 */
export function loadAgentModule(
  file: string,
): () => Promise<Pick<AgentParts, 'tools' | 'builtIn' | 'instructions' | 'customisation' | 'settings' | 'tokens'>> {
  return async () => {
    const parts = await importAgent(file).catch((error: unknown) => {
      throw new RangeError(`cannot load ${file}: ${loadFailureText(file, error)}`, { cause: error })
    })
    // the tools and other members are not checked here; a wrong one causes an error when the agent is created or uses it
    if (typeof parts === 'object' && parts !== null) return parts
    throw new RangeError(`${file} must export \`agent\`: an object with tools, instructions and settings, or a function that returns one`)
  }
}

async function importAgent(file: string): Promise<unknown> {
  const { agent } = (await import(pathToFileURL(resolve(file)).href)) as { agent?: unknown }
  return typeof agent === 'function' ? await agent() : agent
}

function loadFailureText(file: string, error: unknown): string {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return 'there is no such file'
  return found.isDirectory() ? 'it is a folder; name a file in it' : errorMessage(error)
}

/** Imports a configuration file and returns its default export. */
export async function importConfiguration(file: string): Promise<unknown> {
  const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  return module.default
}
