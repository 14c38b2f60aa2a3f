import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Problem } from '../agent/agent-context.ts'
import type { Settings } from '../config/settings.ts'
import { isObject, parseJson } from '../core/json.ts'
import { checkOptions } from '../core/options.ts'
import type { McpServers } from '../ports/mcp.ts'
import { isAddressed, type McpConfiguration, mcpRule } from '../ports/mcp-configuration.ts'
import { readTools } from '../tools/mcp/definitions.ts'
import type { AgentDefinition } from './define-agent.ts'

interface McpOption {
  readonly mcp?: McpServers
}

type OnProblem = ((problem: Problem) => void) | undefined

/** The MCP servers of a configuration, as an option of the agent. The option is empty when there are no servers. */
export function openMcpOption(
  configuration: McpConfiguration | undefined,
  onProblem: OnProblem,
  data?: string,
): { readonly option: McpOption; close(): Promise<void> } {
  if (!configuration || Object.keys(configuration).length === 0) return { option: {}, close: async () => {} }
  const mcp = createLazyServers(configuration, onProblem, data)
  return { option: { mcp }, close: mcp.close }
}

/** The MCP servers of an agent whose settings may be loaded again. If the configuration is the same, the servers keep running. */
export function mcpCache(onProblem: OnProblem, data: string) {
  const opened = new Map<string, ReturnType<typeof openMcpOption>>()
  return {
    async option(setting: Settings['mcp'], ofAgent: McpConfiguration | undefined): Promise<McpOption> {
      const configuration = await mcpConfiguration(setting, ofAgent)
      const key = JSON.stringify(configuration ?? {})
      const known = opened.get(key) ?? openMcpOption(configuration, onProblem, data)
      opened.set(key, known)
      return known.option
    },
    async close() {
      for (const each of opened.values()) await each.close()
    },
  }
}

/** MCP servers whose code is imported when an agent first asks for their tools. */
function createLazyServers(configuration: McpConfiguration, onProblem: OnProblem, data: string | undefined): McpServers {
  let loaded: McpServers | undefined
  let loading: Promise<McpServers> | undefined
  let isClosed = false
  const load = async (): Promise<McpServers> => {
    const { createMcpServers } = await import('../adapters/mcp/index.ts')
    loaded = createMcpServers(configuration, {
      version: daybookVersion(),
      tokens: tokenFolder(data),
      onProblem: (problem) => onProblem?.(problem),
    })
    if (isClosed) await loaded.close()
    return loaded
  }
  const servers = () => {
    loading ??= load()
    return loading
  }
  return {
    names: Object.keys(configuration),
    list: async () => (await servers()).list(),
    latest: () => loaded?.latest() ?? [],
    call: async (request) => (await servers()).call(request),
    async close() {
      isClosed = true
      await loaded?.close()
    },
  }
}

/** The folder with the OAuth tokens for MCP servers. If no data folder is given, it is in `.daybook`. */
export const tokenFolder = (data = '.daybook'): string => join(data, 'mcp')

const daybookVersion = (): string => (createRequire(import.meta.url)('daybook/package.json') as { readonly version: string }).version

/**
 * The servers of the setting `mcp`: an object, or the path of a JSON file with `mcpServers`, in the format that other programs also use.
 * These servers are added to the servers of the agent, and replace a server of the agent with the same name.
 */
export async function mcpConfiguration(
  setting: Settings['mcp'],
  ofAgent: McpConfiguration | undefined,
): Promise<McpConfiguration | undefined> {
  if (setting === undefined) return ofAgent
  const given = typeof setting === 'string' ? await readConfiguration(setting) : setting
  checkOptions('mcp', given, mcpRule)
  return { ...ofAgent, ...(given as McpConfiguration) } // `mcpRule` has checked the value
}

async function readConfiguration(path: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new RangeError(`the setting mcp names the file ${path}, which can not be read`, { cause })
  }
  const parsed = parseJson(text)
  if (isObject(parsed) && isObject(parsed.mcpServers)) return parsed.mcpServers
  throw new RangeError(`${path} must be JSON with an object \`mcpServers\``)
}

/** Signs a person in to a server of the settings. `open` gets the address at which the person signs in. */
export async function signInToServer(
  settings: Pick<Settings, 'mcp' | 'data'> & { readonly agent?: Pick<AgentDefinition, 'mcp'> },
  server: string,
  open: (address: URL) => void,
  signal: AbortSignal,
): Promise<void> {
  const configuration = (await mcpConfiguration(settings.mcp, settings.agent?.mcp))?.[server]
  if (!configuration) throw new RangeError(`the agent has no MCP server ${server}`)
  if (!isAddressed(configuration) || configuration.oauth === undefined)
    throw new RangeError(`the MCP server ${server} has no option oauth, so there is nothing to sign in to`)
  const [{ tokenPathIn }, { signIn }] = await Promise.all([import('../adapters/mcp/index.ts'), import('../adapters/mcp/oauth/sign-in.ts')])
  await signIn(configuration, tokenPathIn(tokenFolder(settings.data), server, configuration.url), open, signal)
}

/** Starts the servers of the setting, asks them for their tools, and ends them. */
export async function describeMcp({
  mcp,
  data,
}: Pick<Settings, 'mcp' | 'data'>): Promise<{ readonly ok: boolean; readonly found: string }> {
  const { option, close } = openMcpOption(await mcpConfiguration(mcp, undefined), undefined, data)
  if (!option.mcp) return { ok: true, found: 'none in the settings' }
  try {
    const states = await option.mcp.list()
    const { tools, problems } = readTools(states)
    const counts = states.map(({ server }) => `${server} (${tools.filter((tool) => tool.server === server).length} tools)`)
    return { ok: problems.length === 0, found: [counts.join(', '), ...problems].join('; ') }
  } finally {
    await close()
  }
}
