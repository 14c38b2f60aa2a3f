import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../../core/json.ts'
import type { McpQuestion, McpReply } from '../../ports/mcp.ts'

/** Functions that a client calls when the server sends a message that is not an answer. */
export interface ClientHandlers {
  onListChanged(): void
  onQuestion(question: McpQuestion, signal: AbortSignal): Promise<McpReply>
}

/** A client of the MCP SDK. The server may ask people questions through it. It offers no other capability to the server. */
export function createClient(version: string, { onListChanged, onQuestion }: ClientHandlers): Client {
  const client = new Client({ name: 'daybook', version }, { capabilities: { elicitation: { form: {} } } })
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => onListChanged())
  client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
    if (!('requestedSchema' in params)) return { action: 'decline' as const }
    const { message, requestedSchema } = params
    const reply = await onQuestion({ message, schema: requestedSchema as unknown as JsonObject }, signal)
    return reply.action === 'accept'
      ? { action: 'accept' as const, content: reply.content as Record<string, string> }
      : { action: reply.action }
  })
  // Errors about messages that belong to no request are ignored. If such a message was meant for a call, this call ends at its time limit.
  client.onerror = () => {}
  return client
}
