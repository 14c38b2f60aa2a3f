import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { Failure } from '../../core/failure.ts'
import { InvalidOption } from '../../core/options.ts'
import { describeIssues } from '../../core/standard-schema.ts'
import { type Caller, operatorRole } from '../auth/authenticate.ts'
import { RequestProblem } from '../problem.ts'
import { failure, type McpToolParts, offeredTools } from './tools.ts'

/** The parts of an MCP server. `onError` gets failures whose text the client must not read. */
export interface McpServerParts extends McpToolParts {
  readonly version: string
  onError(error: unknown): void
}

/** A server of the MCP SDK that offers the tools of Daybook to one caller. */
export function createProtocolServer(parts: McpServerParts): Server {
  const tools = offeredTools(parts)
  const server = new Server({ name: 'daybook', version: parts.version }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, params, annotations }) => ({
      name,
      description,
      inputSchema: z.toJSONSchema(params, { io: 'input' }) as { type: 'object' }, // the parameters of every tool are an object
      annotations,
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification, _meta }) => {
    const tool = tools.find(({ name }) => name === params.name)
    if (!tool)
      return failure(
        `There is no tool ${JSON.stringify(params.name.slice(0, 100))}. The tools are ${tools.map(({ name }) => name).join(', ')}.`,
      )
    const progressToken = _meta?.progressToken
    let progress = 0
    const onProgress = (message: string) => {
      if (progressToken === undefined) return
      // a failure is ignored: if the client has disconnected, the turn still continues
      sendNotification({ method: 'notifications/progress', params: { progressToken, progress: ++progress, message } }).catch(() => {})
    }
    try {
      return await tool.run(params.arguments ?? {}, { signal, onProgress })
    } catch (error) {
      return failure(messageFor(error, parts.onError))
    }
  })
  return server
}

/** The message about an error for the client. The details of an unexpected error are only for the operator. */
function messageFor(error: unknown, onError: (error: unknown) => void): string {
  if (error instanceof z.ZodError) return `The parameters do not fit: ${describeIssues(error.issues)}.`
  if (error instanceof RequestProblem || error instanceof Failure || error instanceof InvalidOption) return error.message
  if (error instanceof DOMException && error.name === 'AbortError') return 'The call was cancelled.'
  onError(error)
  return 'Daybook could not do this. The log of the server says why.'
}

/**
 * The caller for the person at this machine. This person is an operator, in the same way as on a server that listens on the loopback
 * address.
 */
export const ownerOfMachine = (scope: Caller['scope']): Caller => ({ scope, roles: [operatorRole] })
