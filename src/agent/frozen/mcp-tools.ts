import type { McpServerState, McpServers } from '../../ports/mcp.ts'
import { definitionsText, type McpToolDefinition, type McpTools, parseDefinitions, readTools } from '../../tools/mcp/definitions.ts'
import { mcpTool } from '../../tools/mcp/tools.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ChangingParts, ToolServices } from '../agent-context.ts'
import { maxNativeTools } from '../dialect.ts'
import type { AgentSettings } from '../settings.ts'
import type { ChangingText } from './frozen-texts.ts'

/** The name under which the list of the tools of MCP servers is frozen. */
export const TOOLS_TEXT = 'tools'

/** The tools of MCP servers as a text that turns freeze. */
export interface McpText extends ChangingText {
  toolsIn(text: string): FrozenServerTools
  mayHave(id: string): boolean
}

/** The MCP tools that a frozen text describes, and the servers that had not answered when the text was made. */
export interface FrozenServerTools {
  readonly tools: readonly Tool[]
  readonly silent: readonly string[]
}

export function createMcpText(servers: McpServers): McpText {
  const read = rememberLast(readTools)
  return {
    async current() {
      const states = await servers.list()
      return definitionsText({ tools: read(states).tools, silent: states.filter(({ tools }) => !tools).map(({ server }) => server) })
    },
    remarks: (frozen) => remarksAbout(parseDefinitions(frozen).tools, read(servers.latest()), servers.latest()),
    toolsIn: (text) => frozenServerTools(text, servers),
    mayHave: (id) => servers.names.some((name) => id.startsWith(`mcp.${name}.`)),
  }
}

/** Makes the tools of a stored list. Calls of these tools are sent to `servers`. */
export function frozenServerTools(text: string, servers: Parameters<typeof mcpTool>[1]): FrozenServerTools {
  const { tools, silent } = parseDefinitions(text)
  return { tools: tools.map((definition) => mcpTool(definition, servers)), silent }
}

/**
 * The tools of MCP servers that an agent can have besides its own tools. A tool with the same id as a tool of the agent itself is left out.
 */
export function fittingTools(
  offered: readonly Tool[],
  own: readonly Pick<Tool, 'id'>[],
  dialect: AgentSettings['dialect'],
): readonly Tool[] {
  const ids = new Set(own.map(({ id }) => id))
  const others = offered.filter(({ id }) => !ids.has(id))
  // Providers accept at most `maxNativeTools`. With the dialect `auto`, an agent with more tools uses `channels`, which has no limit.
  return dialect === 'native' ? others.slice(0, maxNativeTools - own.length) : others
}

/**
 * How many lists of tools an agent keeps in memory. Several lists are needed, because a conversation whose prompt is still in the
 * provider's cache may use an older list.
 */
const MAX_LISTS = 16

/** Makes the tools, the system text and the other objects of a frozen list. The objects of the last `MAX_LISTS` lists are kept. */
export function mcpToolsIn(
  mcp: McpText,
  own: readonly Tool[],
  dialect: AgentSettings['dialect'],
  servicesOf: (tools: readonly Tool[], silent: readonly string[]) => ToolServices,
): ChangingParts {
  const known = new Map<string, ToolServices>()
  return {
    texts: new Map([[TOOLS_TEXT, mcp]]),
    servicesWith(texts) {
      const text = texts.get(TOOLS_TEXT) ?? ''
      const services = known.get(text) ?? create(text)
      known.delete(text)
      known.set(text, services)
      for (const oldest of [...known.keys()].slice(0, -MAX_LISTS)) known.delete(oldest)
      return services
    },
  }

  function create(text: string): ToolServices {
    const { tools, silent } = mcp.toolsIn(text)
    const services = servicesOf([...own, ...fittingTools(tools, own, dialect)], silent)
    return { ...services, remarks: () => mcp.remarks(text) }
  }
}

const MAX_NAMED = 12

/** What has changed since the list was frozen, and what is wrong with servers, in words for the model. */
function remarksAbout(
  frozen: readonly McpToolDefinition[],
  { tools, problems }: McpTools,
  states: readonly McpServerState[],
): readonly string[] {
  const answered = new Set(states.flatMap(({ server, tools: sent }) => (sent ? [server] : [])))
  const now = new Map(tools.map((tool) => [tool.id, tool]))
  const then = new Map(frozen.map((tool) => [tool.id, tool]))
  const removed = frozen.filter(({ id, server }) => answered.has(server) && !now.has(id)).map(({ id }) => id)
  const added = tools.filter(({ id }) => !then.has(id)).map(({ id }) => id)
  const changed = tools.filter((tool) => isChanged(tool, then.get(tool.id))).map(({ id }) => id)
  return [
    ...line('These tools do not exist any more: ', removed),
    ...line('The parameters of these tools have changed, and the list above shows the old ones: ', changed),
    ...line('There are new tools, which can be called in a later turn: ', added),
    ...problems,
  ]
}

const isChanged = (now: McpToolDefinition, then: McpToolDefinition | undefined): boolean =>
  then !== undefined && JSON.stringify(now.input) !== JSON.stringify(then.input)

function line(words: string, ids: readonly string[]): readonly string[] {
  if (ids.length === 0) return []
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : ''
  return [`${words}${ids.slice(0, MAX_NAMED).join(', ')}${more}.`]
}

/**
 * Calls `read` only if a server has changed, and otherwise returns the last result. This is done because every round asks for the remarks.
 */
function rememberLast(read: (states: readonly McpServerState[]) => McpTools): (states: readonly McpServerState[]) => McpTools {
  let last: { readonly states: readonly McpServerState[]; readonly tools: McpTools } | undefined
  const isSame = (one: McpServerState, other: McpServerState | undefined) =>
    one.server === other?.server && one.tools === other.tools && one.problem === other.problem
  return (states) => {
    const known = last && states.length === last.states.length && states.every((state, index) => isSame(state, last?.states[index]))
    if (!last || !known) last = { states, tools: read(states) }
    return last.tools
  }
}
