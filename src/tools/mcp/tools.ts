import type { JsonObject } from '../../core/json.ts'
import type { McpAnswer, McpQuestion, McpReply, McpServers } from '../../ports/mcp.ts'
import { failed } from '../outcome.ts'
import { parametersOfJsonSchema, takesText } from '../parameters.ts'
import type { Call, Outcome, Tool } from '../tool.ts'
import type { McpToolDefinition } from './definitions.ts'
import { plainLine } from './plain-text.ts'
import { readResult } from './result.ts'

/** Makes a tool from a definition. A call of the tool is sent to the server. */
export function mcpTool(definition: McpToolDefinition, servers: Pick<McpServers, 'call' | 'latest'>): Tool {
  const { id, server, name, description, input } = definition
  return {
    id,
    description,
    parameters: parametersOfJsonSchema(input) ?? [],
    order: 'soft',
    strategy: definition.read_only ? 'exploration' : 'exploitation',
    repeatable: definition.repeatable === true,
    timeoutMs: undefined, // the connection to the server has a time limit, which pauses while a person is asked
    exec: false,
    ...(definition.read_only && { readOnly: true }),
    returns: undefined,
    constraints: [],
    takesText: (at) => takesText(input, at),
    async run(params, call) {
      if (isRemoved(definition, servers))
        return failed('tool_removed', `The MCP server ${server} does not have the tool ${name} any more. Nothing ran. Find another way.`)
      const answer = await servers.call({
        server,
        name,
        params: params as JsonObject, // the parameters of a call are JSON
        conversationId: call.conversationId,
        signal: call.signal,
        ...(call.showProgress && { onProgress: call.showProgress }),
        ...(call.ask && { ask: (question, signal) => askOnce(call, question, signal) }),
      })
      return outcomeOf(definition, answer, call)
    },
  }
}

/**
 * Asks the question of a server. The sizes of its text and its schema are limited, because people read them and the journal stores them.
 */
async function askOnce(call: Call, { message, schema }: McpQuestion, signal: AbortSignal): Promise<McpReply> {
  if (JSON.stringify(schema).length > MAX_SCHEMA) return { action: 'cancel' }
  return call.ask?.({ message: plainLine(message, MAX_QUESTION), schema }, signal) ?? { action: 'cancel' }
}

const MAX_QUESTION = 2_000
const MAX_SCHEMA = 20_000

/** Whether the server has said that it does not have the tool any more. */
function isRemoved({ server, name }: McpToolDefinition, servers: Pick<McpServers, 'latest'>): boolean {
  const tools = servers.latest().find((state) => state.server === server)?.tools
  return tools !== undefined && !tools.some((tool) => (tool as { readonly name?: unknown } | null)?.name === name)
}

function outcomeOf({ server }: McpToolDefinition, answer: McpAnswer, call: Call): Outcome | Promise<Outcome> {
  switch (answer.kind) {
    case 'result':
      return readResult(answer.result, call)
    case 'error':
      return failed('mcp_error', `The MCP server ${server} refused the call: ${plainLine(answer.message, 2_000)}`)
    case 'unavailable':
      return failed('mcp_unavailable', `The MCP server ${server} can not be used now: ${plainLine(answer.message, 500)}. Nothing ran.`)
    case 'lost':
      return failed(
        'mcp_error',
        `The call got no answer from the MCP server ${server}: ${plainLine(answer.message, 500)}. Whether it had an effect is not known.`,
      )
    default:
      return answer satisfies never
  }
}
