import { createRequire } from 'node:module'
import { Command } from 'commander'
import { errorMessage } from '../../core/failure.ts'
import { localScope } from '../../core/scope.ts'
import { openAgent } from '../../wiring/agent.ts'
import type { CommandContext } from '../context.ts'
import { newConversationId } from '../conversation-client.ts'
import { withExamples } from '../options.ts'

/** The command `mcp`. Another program starts it, and talks to the agent over its standard input and output. */
export function mcpCommand({ terminal, settingsWithAgent }: CommandContext): Command {
  const command = new Command('mcp')
    .description('offer the agent to another program over MCP, on standard input and output')
    .action(async () => {
      const settings = await settingsWithAgent()
      if (settings.server !== undefined) throw new RangeError(`connect to ${settings.server}/mcp, and leave out --server here`)
      // imported on demand, because no other command needs these modules
      const { createProtocolServer, ownerOfMachine } = await import('../../server/mcp/protocol-server.ts')
      const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
      const report = (where: string, error: unknown) => void terminal.errors.write(`${where}: ${errorMessage(error)}\n`)
      const { agent, close } = await openAgent(settings, { onProblem: ({ where, error }) => report(where, error) })
      const ended = Promise.withResolvers<void>()
      const stopListening = terminal.onSignal(() => ended.resolve())
      try {
        const server = createProtocolServer({
          agent,
          caller: ownerOfMachine(localScope),
          settings: { userThinking: settings.userThinking },
          newId: newConversationId,
          version: (createRequire(import.meta.url)('daybook/package.json') as { readonly version: string }).version,
          beginTurn: () => () => {},
          onError: (error) => report('mcp', error),
        })
        terminal.input.once('end', ended.resolve)
        await server.connect(new StdioServerTransport(terminal.input, terminal.output))
        await ended.promise
        await server.close()
      } finally {
        stopListening()
        await close()
      }
    })
  return withExamples(command, [['daybook mcp --agent ./agent.ts', 'as the command of a server in the configuration of another program']])
}
