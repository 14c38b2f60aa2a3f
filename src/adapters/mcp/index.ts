import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { McpServers } from '../../ports/mcp.ts'
import type { McpConfiguration } from '../../ports/mcp-configuration.ts'
import { type Connection, createConnection } from './connection.ts'

/** Options of `createMcpServers`. */
export interface McpOptions {
  /** The version of Daybook. It is sent to the servers. */
  readonly version: string
  /** The folder in which the tokens of servers are stored. */
  readonly tokens: string
  /** Called for failures that the operator should know, such as a server that ended. */
  onProblem(problem: { readonly where: string; readonly error: unknown }): void
}

/** The path of the file with the tokens of a server. It depends on the address, so that no other server gets the tokens. */
export const tokenPathIn = (folder: string, server: string, url: string): string =>
  join(folder, `${server}-${createHash('sha256').update(url).digest('hex').slice(0, 12)}.json`)

/** The MCP servers of a configuration. No server is started before it is needed. */
export function createMcpServers(configuration: McpConfiguration, { version, tokens, onProblem }: McpOptions): McpServers {
  const connections = new Map<string, Connection>(
    Object.entries(configuration).map(([server, settings]) => [
      server,
      createConnection(server, settings, {
        version,
        tokenPath: (name, url) => tokenPathIn(tokens, name, url),
        onProblem: (error) => onProblem({ where: `MCP server ${server}`, error }),
      }),
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
