import { createRequire } from 'node:module'
import { createRoute, z } from '@hono/zod-openapi'
import { userKey } from '../../core/scope.ts'
import { type App, createRoutes, type ServerParts } from '../handler.ts'
import type { MessageQuota } from '../limits/quotas.ts'
import { json, problems, withBody } from './openapi.ts'

/**
 * The route for clients of the Model Context Protocol (streamable HTTP). It keeps no sessions. Every request is independent of earlier
 * requests, so any server behind a load balancer can answer it.
 */
export function mcpRoutes({ agent, settings, newId, log }: ServerParts, quota: MessageQuota): App {
  const app = createRoutes()
  app.openAPIRegistry.registerPath(mcpRoute)
  app.post('/mcp', async (c) => {
    const caller = c.get('caller')
    const [{ createProtocolServer }, { WebStandardStreamableHTTPServerTransport }] = await load()
    const server = createProtocolServer({
      agent,
      caller,
      settings,
      newId,
      version: daybookVersion(),
      async beginTurn(key) {
        await quota.checkBacklog(key)
        return once((await quota.acquire(key)).release)
      },
      onError: (error) => log('error', 'mcp.failed', { user: userKey(caller.scope), error }),
    })
    const transport = new WebStandardStreamableHTTPServerTransport({})
    await server.connect(transport)
    return transport.handleRequest(c.req.raw, { parsedBody: await c.req.json() })
  })
  return app
}

const mcpRoute = createRoute({
  method: 'post',
  path: '/mcp',
  summary: 'A message of the Model Context Protocol (streamable HTTP): other programs use the agent as an MCP server',
  request: withBody(z.looseObject({})),
  responses: { 200: json(z.looseObject({}), 'the answer, or a stream of events with it'), ...problems(400, 401, 413, 415, 429) },
})

/** Makes a function that calls `release` at most once. */
function once(release: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) release()
    isDone = true
  }
}

/** Imported on demand, because most servers are not used over MCP. */
const load = () =>
  Promise.all([import('../mcp/protocol-server.ts'), import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js')])

const daybookVersion = (): string => (createRequire(import.meta.url)('daybook/package.json') as { readonly version: string }).version
