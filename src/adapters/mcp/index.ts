import type { McpServers } from '../../ports/mcp.ts'
import type { McpConfiguration } from '../../ports/mcp-configuration.ts'
import { type Connection, createConnection } from './connection.ts'

/** Options of `createMcpServers`. */
export interface McpOptions {
  /** The version of Daybook, which servers are told. */
  readonly version: string
  /** Called for failures that the operator should know, such as a server that ended. */
  onProblem(problem: { readonly where: string; readonly error: unknown }): void
}

/** The MCP servers of a configuration. No server is started before it is needed. */
export function createMcpServers(configuration: McpConfiguration, { version, onProblem }: McpOptions): McpServers {
  const connections = new Map<string, Connection>(
    Object.entries(configuration).map(([server, settings]) => [
      server,
      createConnection(server, settings, { version, onProblem: (error) => onProblem({ where: `MCP server ${server}`, error }) }),
    ]),
  )
  return {
    names: [...connections.keys()],
    list: () => Promise.all([...connections.values()].map((connection) => connection.list())),
    latest: () => [...connections.values()].map((connection) => connection.latest()),
    async call(request) {
      const connection = connections.get(request.server)
      return connection
        ? connection.call(request)
        : { kind: 'unavailable', message: 'the configuration of the agent does not have this server any more' }
    },
    close: async () => {
      await Promise.all([...connections.values()].map((connection) => connection.close()))
    },
  }
}
