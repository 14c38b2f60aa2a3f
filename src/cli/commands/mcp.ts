import { createRequire } from 'node:module'
import { Command } from 'commander'
import { errorMessage } from '../../core/failure.ts'
import { localScope } from '../../core/scope.ts'
import { signInToServer } from '../../wiring/mcp.ts'
import { openAgent } from '../../wiring/open-agent.ts'
import type { CommandContext } from '../context.ts'
import { newConversationId } from '../conversation-client.ts'
import { withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

/** The command `mcp`. Another program starts it, and talks to the agent over its standard input and output. */
export function mcpCommand({ terminal, settingsWithAgent }: CommandContext): Command {
  const command = new Command('mcp')
    .description('offer the agent to another program over MCP, on standard input and output')
    .action(async () => {
      const settings = await settingsWithAgent()
      if (settings.server !== undefined)
        throw new RangeError(
          `this command offers a local agent: leave out --server, or connect the other program to ${settings.server}/mcp`,
        )
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
          beginTurn: async () => () => {},
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
  command.addCommand(signInCommand(terminal, settingsWithAgent))
  return withExamples(command, [['daybook mcp --agent ./agent.ts', 'as the command of a server in the configuration of another program']])
}

/** The command `mcp sign-in`. A person signs in to a server of the agent with OAuth. */
function signInCommand(terminal: CommandContext['terminal'], settingsWithAgent: CommandContext['settingsWithAgent']): Command {
  return new Command('sign-in')
    .description('sign in to an MCP server of the agent that has the option oauth')
    .argument('<server>', 'the name of the server in the configuration')
    .action(async (server: string) => {
      const abort = new AbortController()
      const stopListening = terminal.onSignal(() => abort.abort())
      try {
        const open = (address: URL) => printLine(terminal, `Open this address in a browser:\n${address.href}`)
        await signInToServer(await settingsWithAgent(), server, open, abort.signal)
        printLine(terminal, `You are signed in to ${server}.`)
      } finally {
        stopListening()
      }
    })
}
