import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createMcpServers, tokenPathIn } from '../../src/adapters/mcp/index.ts'
import { signIn } from '../../src/adapters/mcp/oauth/sign-in.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { promptOf } from './servers.ts'

/** An MCP server and its authorization server. A refresh token can be used once. */
async function protectedServer() {
  const state = { access: new Set<string>(), refresh: '', issued: 0, refreshes: 0, codes: new Set<string>() }
  const issue = () => {
    state.issued++
    state.refresh = `refresh-${state.issued}`
    state.access = new Set([`access-${state.issued}`])
    return { access_token: `access-${state.issued}`, refresh_token: state.refresh, token_type: 'Bearer', expires_in: 3600 }
  }
  const http = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin)
    const send = (status: number, body: object, headers = {}) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
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
    if (pathname === '/register') return send(201, { ...JSON.parse(body), client_id: 'client-1' })
    if (pathname === '/authorize') {
      state.codes.add('code-1')
      const target = new URL(searchParams.get('redirect_uri') ?? '')
      target.search = new URLSearchParams({ code: 'code-1', state: searchParams.get('state') ?? '' }).toString()
      return void response.writeHead(302, { location: target.href }).end()
    }
    if (pathname === '/token') {
      const form = new URLSearchParams(body)
      if (form.get('grant_type') === 'authorization_code' && state.codes.delete(form.get('code') ?? '')) return send(200, issue())
      if (form.get('grant_type') !== 'refresh_token') return send(400, { error: 'invalid_grant' })
      state.refreshes++
      await new Promise((resolve) => setTimeout(resolve, 50))
      return form.get('refresh_token') === state.refresh ? send(200, issue()) : send(400, { error: 'invalid_grant' })
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

const tokenFolder = () => mkdtempSync(join(tmpdir(), 'daybook-mcp-'))

function serversWith(configuration: { url: string; oauth: true }, tokens: string) {
  const servers = createMcpServers({ demo: configuration }, { version: 'test', tokens, onProblem: () => {} })
  onTestFinished(() => servers.close())
  return servers
}

/** Signs in like a person: the browser follows the redirect. */
const visit = (configuration: { url: string; oauth: true }, tokens: string) =>
  signIn(configuration, tokenPathIn(tokens, 'demo', configuration.url), (address) => void fetch(address), new AbortController().signal)

const call = { server: 'demo', name: 'hello', params: {}, conversationId: 'c1', signal: new AbortController().signal }

describe('a server with OAuth', () => {
  it('is used after a person has signed in, and only the owner can read the tokens', async () => {
    const { configuration } = await protectedServer()
    const tokens = tokenFolder()
    await visit(configuration, tokens)
    const servers = serversWith(configuration, tokens)
    expect(await servers.call(call)).toMatchObject({ kind: 'result', result: { content: [{ text: 'Hello, signed in.' }] } })
    const files = readdirSync(tokens)
    expect(files).toHaveLength(1)
    expect(statSync(join(tokens, files[0] ?? '')).mode & 0o777).toBe(0o600)
  })

  it('that nobody has signed in to does not break a turn, and the prompt says what to do', async () => {
    const { configuration } = await protectedServer()
    const harness = createHarness({ mcp: serversWith(configuration, tokenFolder()), replies: [reply.answer('Done.')] })
    expect(await harness.say('Hello')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('a person has to sign in first: daybook mcp sign-in demo')
  })

  it('refreshes an expired token once, however many agents use it at the same time', async () => {
    const { configuration, state } = await protectedServer()
    const tokens = tokenFolder()
    await visit(configuration, tokens)
    const agents = Array.from({ length: 6 }, () => serversWith(configuration, tokens))
    for (const round of [1, 2, 3]) {
      state.access.clear()
      const answers = await Promise.all(agents.flatMap((servers) => [servers.call(call), servers.call(call)]))
      expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'result'))
      expect(state.refreshes).toBe(round)
    }
  })

  it('whose refresh token is refused asks for another sign-in', async () => {
    const { configuration, state } = await protectedServer()
    const tokens = tokenFolder()
    await visit(configuration, tokens)
    state.access.clear()
    state.refresh = 'revoked'
    expect(await serversWith(configuration, tokens).call(call)).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('sign in'),
    })
    await visit(configuration, tokens)
    expect(await serversWith(configuration, tokens).call(call)).toMatchObject({ kind: 'result' })
  })
})
