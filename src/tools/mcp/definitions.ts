import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import type { McpServerState } from '../../ports/mcp.ts'
import { isToolId } from '../define.ts'
import { hasHiddenCharacters, plainLine } from './plain-text.ts'
import { readInputSchema, SchemaError } from './schema.ts'

/** A tool of an MCP server as it is stored. The prompt shows exactly this. */
export interface McpToolDefinition {
  readonly id: string
  readonly server: string
  /** The name that the server gives the tool. */
  readonly name: string
  readonly description: string
  /** The JSON Schema of its parameters. */
  readonly input: JsonObject
  /** True when running the tool twice does no harm. It is set only if a trusted server says so. */
  readonly repeatable?: true
  readonly read_only?: true
}

/** The tools of all servers, and what is wrong with servers and tools, in words for people and models. */
export interface McpTools {
  readonly tools: readonly McpToolDefinition[]
  readonly problems: readonly string[]
}

/** The greatest number of tools of one server. More tools would fill the prompt, and most models choose badly among so many tools. */
const MAX_TOOLS_OF_SERVER = 128
const MAX_NAME = 128
const MAX_DESCRIPTION = 4_000
const MAX_DEFINITION = 16_000
/** How many unusable tools are named. A server may have thousands of them. */
const MAX_NAMED = 5

/**
 * Reads the lists of tools that the servers have sent. A tool that can not be used is left out and reported. Tools are in the order of
 * their ids.
 */
export function readTools(states: readonly McpServerState[]): McpTools {
  const tools: McpToolDefinition[] = []
  const problems: string[] = []
  for (const state of states) {
    const read = readServer(state)
    tools.push(...read.tools)
    if (state.problem !== undefined) problems.push(`${state.server}: ${plainLine(state.problem, 300)}`)
    problems.push(...summary(state.server, read.problems))
  }
  return { tools: tools.sort((a, b) => (a.id < b.id ? -1 : 1)), problems }
}

function summary(server: string, problems: readonly string[]): readonly string[] {
  const named = problems.slice(0, MAX_NAMED).map((problem) => `${server}: ${problem}`)
  return problems.length > MAX_NAMED ? [...named, `${server}: ${problems.length - MAX_NAMED} more tools are left out`] : named
}

function readServer({ server, tools: sent = [], trusted = false, allowed }: McpServerState): McpTools {
  const tools: McpToolDefinition[] = []
  const names = new Set<string>()
  const problems: string[] = []
  for (const tool of sent) {
    const name = isObject(tool) && typeof tool.name === 'string' ? tool.name : undefined
    if (name === undefined || !isObject(tool)) {
      problems.push('a tool without a name is left out')
      continue
    }
    if (allowed && !allowed.some((pattern) => fits(pattern, name))) continue
    const problem = nameProblem(name, names) ?? (tools.length >= MAX_TOOLS_OF_SERVER ? tooMany : undefined)
    names.add(name)
    try {
      if (problem !== undefined) throw new SchemaError(problem)
      tools.push(readTool(server, name, tool, trusted))
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error
      problems.push(`the tool ${JSON.stringify(plainLine(name, 60))} is left out: ${error.message}`)
    }
  }
  return { tools: withUniqueIds(tools), problems }
}

/**
 * Different names may become the same id. Each of these tools then gets an id with a hash, so that the ids do not depend on the order of
 * the tools.
 */
function withUniqueIds(tools: readonly McpToolDefinition[]): readonly McpToolDefinition[] {
  const counts = new Map<string, number>()
  for (const { id } of tools) counts.set(id, (counts.get(id) ?? 0) + 1)
  return tools.map((tool) => (counts.get(tool.id) === 1 ? tool : { ...tool, id: withHash(tool.id, tool.name) }))
}

const tooMany = `the agent takes at most ${MAX_TOOLS_OF_SERVER} tools of a server: choose some with the option \`tools\``

function nameProblem(name: string, known: ReadonlySet<string>): string | undefined {
  if (name.trim() === '' || name.length > MAX_NAME) return `its name must have 1 to ${MAX_NAME} characters`
  if (hasHiddenCharacters(name)) return 'its name has control characters'
  return known.has(name) ? 'there is another tool with this name' : undefined
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}

function readTool(server: string, name: string, tool: { readonly [key: string]: unknown }, trusted: boolean): McpToolDefinition {
  const { description, title, annotations } = tool
  const text = [description, title].find((each) => typeof each === 'string' && each.trim() !== '')
  const hints = trusted && isObject(annotations) ? annotations : {}
  const definition: McpToolDefinition = {
    id: idOf(server, name),
    server,
    name,
    description: plainLine(typeof text === 'string' ? text : name, MAX_DESCRIPTION),
    input: readInputSchema(tool.inputSchema),
    ...((hints.readOnlyHint === true || hints.idempotentHint === true) && { repeatable: true as const }),
    ...(hints.readOnlyHint === true && { read_only: true as const }),
  }
  if (JSON.stringify(definition).length > MAX_DEFINITION)
    throw new SchemaError(`its description is longer than ${MAX_DEFINITION} characters`)
  return definition
}

/** The id of a tool: `mcp.<server>.<name>`. Characters that an id can not have become `_`. */
function idOf(server: string, name: string): string {
  const words = name.split('.').map((word) => word.replace(/[^A-Za-z0-9_-]/g, '_').replace(/^-/, '_'))
  const id = `mcp.${server}.${words.filter((word) => word !== '').join('.') || '_'}`
  return isToolId(id) ? id : withHash(`mcp.${server}.${name.replace(/[^A-Za-z0-9_]/g, '_')}`, name)
}

const withHash = (id: string, name: string): string => `${id.slice(0, 150)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`

/**
 * The tools of MCP servers that a turn works with. If a server changes its tools, the turn keeps this list. A compaction or a later turn
 * may start to use the changed list.
 */
export interface FrozenDefinitions {
  readonly tools: readonly McpToolDefinition[]
  /** The names of the servers that had not answered when the list was made. Their tools are not in `tools`. */
  readonly silent: readonly string[]
}

/** The text with which a list of tools is stored. The same list always gives the same text. */
export const definitionsText = ({ tools, silent }: FrozenDefinitions): string =>
  JSON.stringify(silent.length === 0 ? tools : { tools, silent })

/** Reads a stored list. The list is empty if the text can not be read. */
export function parseDefinitions(text: string): FrozenDefinitions {
  const stored: Json | undefined = parseJson(text)
  const { tools, silent } = isObject(stored) ? stored : { tools: stored, silent: [] }
  if (!Array.isArray(tools) || !tools.every(isDefinition)) return { tools: [], silent: [] }
  const names = Array.isArray(silent) ? silent.filter((name) => typeof name === 'string') : []
  return { tools: tools as unknown as readonly McpToolDefinition[], silent: names }
}

const isDefinition = (value: unknown): boolean =>
  isObject(value) &&
  isToolId(value.id) &&
  ['server', 'name', 'description'].every((field) => typeof value[field] === 'string') &&
  isObject(value.input)
