import { nativeNames } from '../core/decision/native-names.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { RequestTool } from '../ports/model.ts'
import type { Parameter, Tool } from './tool.ts'

const ordinals = ['FIRST', 'SECOND', 'THIRD', 'FOURTH', 'FIFTH', 'SIXTH'] as const

/**
 * The list of tools in the system text. The same tools must always give exactly the same text, because the provider can not use its cache
 * when the system text has changed.
 */
export function catalogText(tools: readonly Tool[]): string {
  const { react, common } = listedTools(tools)
  return [section('AVAILABLE REACT TOOLS', react), section('AVAILABLE COMMON TOOLS', common)].filter((text) => text !== '').join('\n\n')
}

/** The tools in the order of the list, with descriptions that mention only tools of the agent. */
export function listedTools(tools: readonly Tool[]): { readonly react: readonly Tool[]; readonly common: readonly Tool[] } {
  const ids = new Set(tools.map(({ id }) => id))
  const listed = tools.map((tool) =>
    ownTools.some((prefix) => tool.id.startsWith(prefix)) ? withExistingNames(tool, (id) => ids.has(id)) : tool,
  )
  return { react: listed.filter(isReactTool), common: listed.filter((tool) => !isReactTool(tool)) }
}

/** Built-in tools that descriptions of other tools mention. An agent may lack some of them. */
const builtInNames = /\breact\.(?:read|write|patch|pull|checkout|memsearch|hide|search_files|search_knowledge|plan)\b/g

/** Removes the sentences that name a built-in tool which the agent does not have. A text without such sentences is returned unchanged. */
export function withoutMissingTools(text: string, has: (id: string) => boolean): string {
  const isPossible = (sentence: string) => (sentence.match(builtInNames) ?? []).every(has)
  if (isPossible(text)) return text
  return text
    .split(/(?<=[.!?]) /)
    .filter(isPossible)
    .join(' ')
}

/**
 * The ids of tools whose descriptions are adapted begin with one of these prefixes. Their descriptions lose the sentences about tools that
 * the agent does not have.
 */
const ownTools = ['react.', 'exec_tools.']

const isReactTool = ({ id, exec }: Tool) => exec || /^(react|web_tools|exec_tools)\./.test(id)

const withExistingNames = (tool: Tool, has: (id: string) => boolean): Tool => ({
  ...tool,
  description: withoutMissingTools(tool.description, has),
  constraints: tool.constraints.map((constraint) => withoutMissingTools(constraint, has)).filter((constraint) => constraint !== ''),
})

function section(title: string, tools: readonly Tool[]): string {
  if (tools.length === 0) return ''
  const summary = `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}: ${tools.map(({ id }) => id).join(', ')}`
  return [`[${title}]`, summary, ...tools.map((tool, index) => `\n${toolText(tool, index + 1)}`)].join('\n')
}

function toolText(tool: Tool, number: number): string {
  const parameters = tool.exec ? tool.parameters.filter(({ name }) => name !== 'code') : tool.parameters
  return [
    `🔧 [${number}] ${tool.id}`,
    `purpose: ${tool.description}`,
    `scope: ${scopeOf(tool.id)} | ${tool.strategy}`,
    ...(parameters.length > 0 ? ['📥 Parameters', ...parameters.map((parameter, index) => parameterText(parameter, index, tool))] : []),
    ...(tool.returns === undefined ? [] : [`📤 Returns: ${tool.returns}`]),
    `📞 Usage: ${tool.id}(${parameters.map(({ name }) => name).join(', ')})`,
    ...constraintsOf(tool).map((constraint) => `constraint: ${constraint}`),
  ].join('\n')
}

/** The namespace of a tool. For the tools of MCP servers it names the server: `mcp.github`. */
function scopeOf(id: string): string {
  const [namespace = '', server] = id.split('.', 2)
  return namespace === 'mcp' ? `mcp.${server}` : namespace
}

function parameterText({ name, type, shape = type, required, description, ...rest }: Parameter, index: number, { order }: Tool): string {
  const fallback = 'default' in rest ? ` [default: ${JSON.stringify(rest.default)}]` : required ? '' : ' [optional]'
  const position = order === 'hard' && ordinals[index] !== undefined ? `(${ordinals[index]} FIELD) ` : ''
  return `  ${name}: ${shape}${fallback}${position || description ? ` — ${position}${description ?? ''}` : ''}`.trimEnd()
}

function constraintsOf(tool: Tool): readonly string[] {
  const order = `write the parameters in exactly this order: ${tool.parameters.map(({ name }) => name).join(', ')}`
  const code = 'the program goes into <channel:code>, never into params'
  return [...(tool.order === 'hard' ? [order] : []), ...(tool.exec ? [code] : []), ...tool.constraints]
}

/** The parameter of an exec tool that holds the program. In the dialect `channels`, the program is in a channel of its own. */
export const programParameter = 'program'

/**
 * The tools in the form that providers expect, in the order of the catalogue. The same tools always give the same bytes, because the
 * provider can not use its cache when a tool has changed.
 */
export function requestTools(tools: readonly Tool[]): readonly RequestTool[] {
  const { react, common } = listedTools(tools)
  const listed = [...react, ...common]
  const names = nativeNames(listed.map(({ id }) => id))
  return listed.map((tool) => ({ name: names.get(tool.id) ?? tool.id, description: describe(tool), schema: schemaOf(tool) }))
}

/** The description of a tool, its constraints and its return value. The schema describes the parameters. */
const describe = ({ description, constraints, returns }: Tool): string =>
  [description, ...constraints, ...(returns === undefined ? [] : [`Returns: ${returns}`])].join('\n')

function schemaOf({ parameters, exec }: Tool): JsonObject {
  const shown = exec ? [...parameters.filter(({ name }) => name !== 'code' && name !== programParameter), program] : parameters
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map((parameter) => [parameter.name, propertyOf(parameter)])),
    required: shown.filter(({ required }) => required).map(({ name }) => name),
  }
}

const program: Parameter = { name: programParameter, type: 'string', required: true, description: 'the whole program, as plain text' }

/** The schema of one parameter. If only its short notation is known, the description contains it. */
function propertyOf({ type, shape, description, schema }: Parameter): JsonObject {
  if (schema) return withoutNoise(schema) as JsonObject
  const text = [...(shape === undefined ? [] : [shape]), ...(description === undefined ? [] : [description])].join(' — ')
  return { ...(type !== 'any' && { type, ...(type === 'array' && { items: {} }) }), ...(text !== '' && { description: text }) }
}

/**
 * The schema without bounds that only say that a number is a safe integer. Zod writes these bounds, and every model call would pay for
 * their tokens.
 */
function withoutNoise(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutNoise)
  if (!isObject(schema)) return schema
  const isNoise = (name: string, value: unknown) =>
    (name === 'minimum' && value === Number.MIN_SAFE_INTEGER) || (name === 'maximum' && value === Number.MAX_SAFE_INTEGER)
  const kept = Object.entries(schema as JsonObject).filter(([name, value]) => !isNoise(name, value))
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutNoise(value)]))
}
