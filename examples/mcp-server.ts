// A small MCP server with one tool. examples/mcp.ts starts it.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'tides', version: '1.0.0' })

server.registerTool(
  'next_high_tide',
  { description: 'The time of the next high tide in a harbour.', inputSchema: { harbour: z.string() } },
  ({ harbour }) => ({ content: [{ type: 'text', text: `${harbour}: 14:20` }] }),
)

await server.connect(new StdioServerTransport())
