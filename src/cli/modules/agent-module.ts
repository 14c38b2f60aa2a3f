import { relative, resolve } from 'node:path'
import { type AgentDefinition, defineAgent } from '../../wiring/define-agent.ts'
import { loadFailureText } from './load-failure.ts'
import { importInLoad, type ModuleLoad } from './load-module.ts'

/**
 * Loads the agent that a module exports as `agent` or as its default. The export is the definition of an agent, or a function that returns
 * one.
 */
export async function loadAgentModule(file: string, folder: string, load: ModuleLoad): Promise<AgentDefinition> {
  const path = resolve(folder, file)
  try {
    const definition = await withinTime(load, async () => {
      const module = (await importInLoad(path, load)) as { readonly agent?: unknown; readonly default?: unknown }
      const exported = module.agent ?? module.default
      return typeof exported === 'function' ? exported() : exported
    })
    if (typeof definition === 'object' && definition !== null) return defineAgent(definition)
  } catch (error) {
    throw new RangeError(`cannot load ${file}: ${loadFailureText(path, folder, load, error)}`, { cause: error })
  }
  throw new RangeError(`${file} must export \`agent\`, such as: export const agent = defineAgent({ tools: [] })`)
}

/**
 * Rejects when a module takes too long. Without this, a top-level `await` that never ends would end the process without a message, because
 * Node exits when it has nothing left to do.
 */
async function withinTime<T>({ timeoutMs = 30_000 }: ModuleLoad, work: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const message = `it was still loading after ${timeoutMs / 1000} seconds: something that it awaits does not end`
  const timer = setTimeout(() => reject(new RangeError(message)), timeoutMs)
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Imports a configuration file and returns its default export. */
export async function importConfiguration(file: string, folder: string, load: ModuleLoad): Promise<unknown> {
  try {
    const module = (await withinTime(load, () => importInLoad(file, load))) as { readonly default?: unknown }
    return module.default
  } catch (error) {
    throw new RangeError(`${relative(folder, file)} can not be read: ${loadFailureText(file, folder, load, error)}`, { cause: error })
  }
}
