import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { onTestFinished } from 'vitest'

interface Grant {
  readonly clientId: string
  readonly redirectUri: string
  readonly challenge: string
}

/** What a test sees and changes of the server. */
interface ProtectedState {
  /** The tokens with which the MCP server can be called. */
  access: Set<string>
  /** The only refresh token that is accepted. It can be used once. */
  refresh: string
  issued: number
  refreshes: number
  /** Every reason for which the authorization server has refused a request. */
  readonly refusals: string[]
  /** Called before a refresh is answered. */
  beforeRefresh?: () => Promise<void>
}

/**
 * An MCP server and its authorization server. It checks what OAuth demands: clients are registered with their address, a code belongs to a client,
 * an address and a challenge (PKCE with S256), is used once, and names the server for which the token is.
 */
export async function protectedServer() {
  const state: ProtectedState = { access: new Set(), refresh: '', issued: 0, refreshes: 0, refusals: [] }
  const clients = new Map<string, readonly string[]>()
  const codes = new Map<string, Grant>()
  const issue = () => {
    state.issued++
    state.refresh = `refresh-${state.issued}`
    state.access = new Set([`access-${state.issued}`])
    return { access_token: `access-${state.issued}`, refresh_token: state.refresh, token_type: 'Bearer', expires_in: 3600 }
  }

  function grant(parameters: URLSearchParams): string | undefined {
    const value = (name: string) => parameters.get(name) ?? ''
    const isKnown = clients.get(value('client_id'))?.includes(value('redirect_uri'))
    const isComplete =
      value('response_type') === 'code' && value('code_challenge_method') === 'S256' && value('resource') === `${origin}/mcp`
    if (!isKnown || !isComplete) return undefined
    const code = randomBytes(8).toString('hex')
    codes.set(code, { clientId: value('client_id'), redirectUri: value('redirect_uri'), challenge: value('code_challenge') })
    return code
  }

  function exchange(form: URLSearchParams): object | undefined {
    const granted = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight =
      granted?.clientId === form.get('client_id') && granted?.redirectUri === form.get('redirect_uri') && granted?.challenge === challenge
    return isRight && form.get('resource') === `${origin}/mcp` ? issue() : undefined
  }

  async function refresh(form: URLSearchParams): Promise<object | undefined> {
    state.refreshes++
    await new Promise((resolve) => setTimeout(resolve, 50))
    await state.beforeRefresh?.()
    return form.get('refresh_token') === state.refresh && clients.has(form.get('client_id') ?? '') ? issue() : undefined
  }

  const http = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin)
    const send = (status: number, body: object, headers = {}) => {
      if (status >= 400) state.refusals.push(`${status} ${pathname}`)
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces).toString()
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return send(200, { resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (pathname.startsWith('/.well-known/')) {
      return send(200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    }
    if (pathname === '/register') {
      const client = JSON.parse(body) as { readonly redirect_uris: readonly string[] }
      const id = `client-${clients.size + 1}`
      clients.set(id, client.redirect_uris)
      return send(201, { ...client, client_id: id })
    }
    if (pathname === '/authorize') {
      const code = grant(searchParams)
      if (code === undefined) return send(400, { error: 'invalid_request' })
      const target = new URL(searchParams.get('redirect_uri') ?? '')
      target.search = new URLSearchParams({ code, state: searchParams.get('state') ?? '' }).toString()
      return void response.writeHead(302, { location: target.href }).end()
    }
    if (pathname === '/token') {
      const form = new URLSearchParams(body)
      const tokens = form.get('grant_type') === 'refresh_token' ? await refresh(form) : exchange(form)
      return tokens ? send(200, tokens) : send(400, { error: 'invalid_grant' })
    }
    const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
    if (!state.access.has(token)) {
      const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`
      return send(401, { error: 'invalid_token' }, { 'www-authenticate': challenge })
    }
    const server = new McpServer({ name: 'demo', version: '1' })
    server.registerTool('hello', { description: 'Greets.' }, () => ({ content: [{ type: 'text', text: 'Hello, signed in.' }] }))
    const transport = new StreamableHTTPServerTransport({})
    await server.connect(transport as Transport)
    await transport.handleRequest(request, response, body === '' ? undefined : JSON.parse(body))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.close()
    http.closeAllConnections()
  })
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  return { state, configuration: { url: `${origin}/mcp`, oauth: true as const } }
}
