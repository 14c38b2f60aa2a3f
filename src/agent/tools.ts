import type { ToolSignature, ToolSignatures } from '../core/decision/signature.ts'
import { InvalidOption } from '../core/options.ts'
import type { DocumentRenderer } from '../ports/documents.ts'
import type { KnowledgeSearch } from '../ports/knowledge.ts'
import type { Sandbox } from '../ports/sandbox.ts'
import type { ApprovalFunction } from '../tools/approval.ts'
import { createExecTools } from '../tools/exec/exec-tools.ts'
import type { InvokeLimits } from '../tools/invoke.ts'
import { createCheckoutTool } from '../tools/react/checkout.ts'
import { createHideTool } from '../tools/react/hide.ts'
import { createMemsearchTool, type MemorySearch } from '../tools/react/memsearch.ts'
import { createPatchTool } from '../tools/react/patch.ts'
import { createPlanTool } from '../tools/react/plan.ts'
import { createPullTool } from '../tools/react/pull.ts'
import { createReadTool, type ReadOptions } from '../tools/react/read.ts'
import { createSearchFilesTool } from '../tools/react/search-files.ts'
import { createSearchKnowledgeTool } from '../tools/react/search-knowledge.ts'
import { createWriteTool } from '../tools/react/write.ts'
import { createRenderingTools } from '../tools/rendering/tools.ts'
import type { Tool } from '../tools/tool.ts'

/** The tools of an agent. */
export interface Toolbox {
  readonly tools: readonly Tool[]
  find(id: string): Tool | undefined
  /** Whether there is a tool with exactly this id. Texts for the model mention a tool only if it exists. */
  readonly has: (id: string) => boolean
  /** Whether this tool can be called in the turn. If undefined, all tools can be called. */
  readonly offers?: (id: string) => boolean
  /** Whether a program of the model may call a tool in this turn. If undefined, it may call all tools with `callableFromCode`. */
  readonly offersToPrograms?: (id: string) => boolean
  /** Whether a tool with this id may appear while the agent runs, because an MCP server may have it. If undefined, no tool can appear. */
  readonly mayHave?: (id: string) => boolean
  /**
   * Whether there is a tool with this id, or any tool of a namespace such as `mcp.github.*`. Also true for the tools of an MCP server that
   * had not answered when the turn began. Undefined for an agent without MCP servers.
   */
  readonly hasAny?: (id: string) => boolean
  /** The signatures with which a call is checked before the tool runs. */
  readonly signatures: ToolSignatures
}

/** Old ids of tools, which imported timelines contain, and the present id of each. */
const aliases: ReadonlyMap<string, string> = new Map([['react.memory_hide', 'react.hide']])

/**
 * Functions that exist only inside the programs of exec tools. They have a signature. With the signature, the error for a model that calls
 * one of them as a tool can explain that only programs can call it.
 */
const onlyInCode = ['ctx_tools.fetch_ctx', 'context_tools.fetch_ctx', 'io_tools.tool_call']

export function createToolbox(tools: readonly Tool[]): Toolbox {
  const byId = new Map(tools.map((tool) => [tool.id, tool]))
  const signatures = new Map<string, ToolSignature>([
    ...tools.map((tool) => [tool.id, signatureOf(tool)] as const),
    ...onlyInCode.map((id) => [id, { id, parameters: [], order: 'soft', onlyInCode: true, strategy: 'neutral' } as const] as const),
  ])
  const canonical = (id: string) => aliases.get(id) ?? id
  return {
    tools,
    find: (id) => byId.get(canonical(id)),
    has: (id) => byId.has(id),
    signatures: { ids: [...byId.keys()], find: (id) => signatures.get(canonical(id)) },
  }
}

function signatureOf({ id, parameters, order, exec, strategy }: Tool): ToolSignature {
  return { id, parameters, order, strategy, ...(exec && { exec: true as const }) }
}

/**
 * Whether calls of a tool may need the approval of a person, because the agent has a rule or the tool asks for it. All other calls run
 * without waiting.
 */
export const mayNeedApproval = ({ approve }: { readonly approve?: ApprovalFunction | undefined }, tool: Tool | undefined): boolean =>
  approve !== undefined || tool?.approval !== undefined

/** The objects that the built-in tools read and search. Without `memory` or `knowledgeSearch`, the tool that searches it is left out. */
export interface BuiltInOptions extends Pick<ReadOptions, 'knowledge' | 'skills' | 'documents'> {
  /**
   * What `react.memsearch` searches. By default, `createAgent` searches the memory index of its store. With false, the agent does not have
   * this tool.
   */
  readonly memory?: MemorySearch | false
  readonly knowledgeSearch?: KnowledgeSearch
  /**
   * The built-in tools that the agent has: ids such as `react.read`, or all tools of a namespace such as `rendering_tools.*`. By default it
   * has all of them. With false or an empty list, it has none. A tool is left out in any case if the option that it needs, such as
   * `memory`, is missing.
   */
  readonly tools?: readonly string[] | false
  /** Makes documents for the tools `rendering_tools.write_*`. With false, the agent has none of these tools. */
  readonly rendering?: DocumentRenderer | false
  /** The tokens of the whole context. A share of them limits how much `react.read` returns at once. */
  readonly contextTokens?: number
}

/** The built-in tools that are the same for every agent. They are made when the first agent is created, so that `import` stays fast. */
function sharedTools() {
  madeTools ??= {
    write: createWriteTool(),
    patch: createPatchTool(),
    pull: createPullTool(),
    checkout: createCheckoutTool(),
    hide: createHideTool(),
    searchFiles: createSearchFilesTool(),
    plan: createPlanTool(),
  }
  return madeTools
}
let madeTools: Readonly<Record<'write' | 'patch' | 'pull' | 'checkout' | 'hide' | 'searchFiles' | 'plan', Tool>> | undefined

/** The built-in tools, in the order in which the system text lists them: the `react.*` tools of every agent, then those for documents. */
export function builtInTools({
  tools: chosen,
  memory,
  knowledgeSearch,
  rendering,
  contextTokens,
  ...spaces
}: BuiltInOptions = {}): readonly Tool[] {
  const shared = sharedTools()
  const tools = [
    createReadTool({ ...spaces, ...(contextTokens !== undefined && { limits: { tokens: readTokenLimit(contextTokens) } }) }),
    shared.write,
    shared.patch,
    shared.pull,
    shared.checkout,
    ...(memory ? [createMemsearchTool(memory)] : []),
    shared.hide,
    shared.searchFiles,
    ...(knowledgeSearch ? [createSearchKnowledgeTool(knowledgeSearch)] : []),
    shared.plan,
    ...(rendering ? createRenderingTools(rendering) : []),
  ]
  return tools.filter(isChosen(chosen))
}

/** The ids of all built-in tools. An agent may have fewer of them. */
export const builtInIds: readonly string[] = [
  ...['read', 'write', 'patch', 'pull', 'checkout', 'memsearch', 'hide', 'search_files', 'search_knowledge', 'plan'].map(
    (name) => `react.${name}`,
  ),
  ...['pdf', 'png', 'docx', 'pptx'].map((kind) => `rendering_tools.write_${kind}`),
  ...['python', 'javascript'].map((language) => `exec_tools.execute_code_${language}`),
]

/** Names for all built-in tools of a namespace. */
export const builtInNamespaces: readonly string[] = [...new Set(builtInIds.map((id) => `${namespaceOf(id)}.*`))]

const isChosen =
  (chosen: BuiltInOptions['tools']) =>
  ({ id }: Tool): boolean =>
    chosen === undefined || (chosen !== false && (chosen.includes(id) || chosen.includes(`${namespaceOf(id)}.*`)))

function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('.'))
}

/**
 * The tools of the sandbox. Empty if the agent has no sandbox, because then no program can run. `others` are all other tools of the agent.
 */
export function execTools(
  sandbox: Sandbox | undefined,
  others: readonly Tool[],
  { knowledge, skills, tools }: Pick<BuiltInOptions, 'knowledge' | 'skills' | 'tools'>,
  limits: InvokeLimits,
): readonly Tool[] {
  const readers = { ...(knowledge && { knowledge }), ...(skills && { skills }) }
  return sandbox ? createExecTools({ sandbox, callable: others, readers, limits }).filter(isChosen(tools)) : []
}

/** Returns the built-in tools, then the tools of the application. Throws when two of them have the same id. */
export function allTools(where: string, builtIn: readonly Tool[], own: readonly Tool[] = []): readonly Tool[] {
  const hasId = (tools: readonly Tool[], id: string) => tools.some((tool) => tool.id === id)
  for (const [index, { id }] of own.entries()) {
    const other = hasId(builtIn, id) ? 'a built-in tool' : hasId(own.slice(0, index), id) ? 'another tool' : undefined
    if (other) throw new InvalidOption(where, `tools[${index}]`, `there is ${other} with the id ${id}: choose another id`)
  }
  return [...builtIn, ...own]
}

const readTokenLimit = (contextTokens: number) => Math.min(12_000, Math.max(800, Math.floor(contextTokens * 0.15)))

/** The tools of Daybook that change nothing but the timeline. */
const readingTools: ReadonlySet<string> = new Set([
  ...['react.read', 'react.memsearch', 'react.search_files', 'react.search_knowledge', 'react.hide', 'react.plan'],
  ...['web_tools.web_search', 'web_tools.web_fetch'],
])

/**
 * Whether a tool changes nothing but the timeline. `own` are the tools of the application. A tool that is not known may change anything.
 */
export const isReadOnlyTool = (toolId: string, own: readonly Tool[]): boolean =>
  own.find(({ id }) => id === toolId)?.readOnly ?? readingTools.has(aliases.get(toolId) ?? toolId)
