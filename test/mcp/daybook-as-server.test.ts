import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { embedderFrom } from '../../src/adapters/model/embedding.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { memoryOf } from '../../src/testing/conformance/store/memory.ts'
import { startFakeEmbeddings } from '../../src/testing/fake-providers/fake-embeddings.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { createMemorySearch } from '../../src/tools/recall/memory-search.ts'
import { startVectors } from '../../src/tools/recall/vectors.ts'
import { bearer, tokenOf } from '../support/hostile/fixture.ts'
import { internalTurn, noteMemory } from '../support/internal-turn.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'
import { mcpHarness, promptOf } from './servers.ts'

afterEach(closeServers)

/** A client of the protocol's own SDK. */
async function connect(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

const connectAs = (url: string, token?: string) =>
  connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      ...(token !== undefined && { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
    }) as Transport,
  )

const call = async (client: Client, name: string, args: Record<string, unknown>) => {
  const result = await client.callTool({ name, arguments: args })
  const [first] = result.content as { text: string }[]
  return { text: first?.text ?? '', isError: result.isError === true, data: (result.structuredContent ?? {}) as Record<string, unknown> }
}

describe('Daybook as an MCP server', () => {
  it('lists its tools, answers questions, reads paths and searches what was said', async () => {
    const { server } = await openServer({ replies: [reply.answer('The harbour opens at nine.'), reply.answer('At nine, as I said.')] })
    const client = await connectAs(server.url)
    const { tools } = await client.listTools()
    expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ['ask', false],
      ['read_path', true],
      ['search_memory', true],
    ])
    const first = await call(client, 'ask', { message: 'When does the harbour open?' })
    expect(first.data).toMatchObject({ answer: 'The harbour opens at nine.', exit_reason: 'complete' })
    const { conversation } = first.data
    const second = await call(client, 'ask', { message: 'When?', conversation })
    expect(second.data).toMatchObject({ answer: 'At nine, as I said.', conversation })
    const { data } = await call(client, 'search_memory', { query: 'harbour' })
    const [hit] = data.hits as { conversation: string; path: string }[]
    expect(hit).toMatchObject({ conversation })
    expect((await call(client, 'read_path', { conversation, path: hit?.path })).text).toMatch(/harbour/)
  })

  it('searches what was said also by meaning, if the agent has an embedding model, and by words while this model fails', async () => {
    const clock = createSystemClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const fake = await startFakeEmbeddings([['vessel', 'schooner']])
    onTestFinished(fake.close)
    const memory = memoryOf(store)
    const vectors = startVectors(memory.vectors, embedderFrom(`compatible/one@${fake.address}`, { environment: {} }), () => {}, {
      idleMs: 5,
    })
    onTestFinished(vectors.close)
    const builtIn = { memory: createMemorySearch(memory, clock, vectors) }
    const { server } = await openServer({ store, clock, builtIn, replies: [reply.answer('Noted.'), reply.answer('Noted.')] })
    const client = await connectAs(server.url)
    await call(client, 'ask', { message: 'the schooner left' })
    await call(client, 'ask', { message: 'a loaf of bread' })
    const found = async (query: string) => {
      const { hits } = (await call(client, 'search_memory', { query, limit: 1 })).data as { hits: { text: string }[] }
      return hits.map(({ text }) => text)
    }
    await vi.waitFor(async () => expect(await found('vessel')).toEqual(['the schooner left']), { timeout: 30_000, interval: 100 })
    fake.failing = 500
    expect(await found('bread')).toEqual(['a loaf of bread'])
  })

  it('refuses parameters that do not fit, unknown tools and unknown conversations', async () => {
    const { server } = await openServer({ replies: [] })
    const client = await connectAs(server.url)
    expect(await call(client, 'ask', { message: 7 })).toMatchObject({ isError: true, text: expect.stringContaining('message') })
    expect(await call(client, 'ask', { message: 'x', conversation: '../other' })).toMatchObject({ isError: true })
    expect(await call(client, 'nothing', {})).toMatchObject({ isError: true, text: expect.stringContaining('ask, read_path') })
    expect(await call(client, 'read_path', { conversation: 'none', path: 'ar:x' })).toMatchObject({ isError: true })
  })

  it('reports progress', async () => {
    const look = defineTool({ id: 'shop.look', description: 'Looks.', params: z.object({}), run: () => 'seen' })
    const { server } = await openServer({ replies: [reply.call('shop.look', {}), reply.answer('Done.')], tools: [look] })
    const client = await connectAs(server.url)
    const seen: (string | undefined)[] = []
    await client.callTool({ name: 'ask', arguments: { message: 'Look' } }, undefined, { onprogress: ({ message }) => seen.push(message) })
    expect(seen).toContain('shop.look')
  })

  it('says what a turn waits for', async () => {
    const pay = defineTool({ id: 'shop.pay', description: 'Pays.', params: z.object({}), approval: true, run: () => 'paid' })
    const { server } = await openServer({ replies: [reply.call('shop.pay', {})], tools: [pay] })
    const { data } = await call(await connectAs(server.url), 'ask', { message: 'Pay' })
    expect(data).toMatchObject({ exit_reason: 'waiting', waiting: [{ kind: 'approval', question: 'May the agent call shop.pay?' }] })
  })

  it('needs a token, and shows a user nothing of another tenant or user, and nothing internal', async () => {
    const { replies, tools } = internalTurn(reply.answer('public'))
    const { server } = await openServer({ replies, tools, builtIn: { memory: noteMemory }, server: { auth: bearer } })
    const claims = { tenant: 'acme', project: 'main', sub: 'ann' }
    await expect(connectAs(server.url)).rejects.toThrow()
    const ann = await connectAs(server.url, tokenOf(claims))
    const { data } = await call(ann, 'ask', { message: 'Tell me about the orchard', conversation: 'c1' })
    expect(data).toMatchObject({ conversation: 'c1' })
    const path = `ar:${data.turn_id}.user.prompt`
    expect(await call(ann, 'read_path', { conversation: 'c1', path })).toMatchObject({ text: 'Tell me about the orchard' })
    for (const other of [
      { ...claims, sub: 'bob' },
      { ...claims, tenant: 'evil' },
      { ...claims, project: 'side' },
    ]) {
      const client = await connectAs(server.url, tokenOf(other))
      expect((await call(client, 'search_memory', { query: 'orchard' })).data).toEqual({ hits: [] })
      expect((await call(client, 'search_memory', { query: 'orchard', conversation: 'c1' })).data).toEqual({ hits: [] })
      expect(await call(client, 'read_path', { conversation: 'c1', path })).toMatchObject({ isError: true })
      expect(await call(client, 'read_path', { conversation: 'acme/main/ann/c1', path })).toMatchObject({ isError: true })
    }
    const log = await fetch(`${server.url}/v1/conversations/c1/timeline`, {
      headers: { authorization: `Bearer ${tokenOf({ ...claims, roles: ['operator'] })}` },
    })
    const { blocks } = (await log.json()) as { blocks: { path?: string; text?: string }[] }
    const paths = blocks.flatMap(({ path: each }) => each ?? [])
    expect(paths.length).toBeGreaterThan(3)
    for (const each of paths) expect((await call(ann, 'read_path', { conversation: 'c1', path: each })).text).not.toContain('SECRET')
  })

  it('can be started by another program, and be the server of another Daybook', async () => {
    const data = mkdtempSync(join(tmpdir(), 'daybook-mcp-'))
    const program = { command: process.execPath, args: [join(import.meta.dirname, '../../bin/daybook.js'), 'mcp', '--data', data] }
    const client = await connect(new StdioClientTransport({ ...program, stderr: 'ignore' }))
    const { data: answer } = await call(client, 'ask', { message: 'Hello' })
    expect(answer).toMatchObject({ exit_reason: 'complete', answer: expect.stringMatching(/./) })
    await client.close()
    const searches = ['hello', 'markdown'].map((query) => reply.call('mcp.daybook.search_memory', { query }))
    const replies = [...searches, reply.answer('Done.')]
    const harness = mcpHarness({ daybook: { ...program, startSeconds: 60 } }, { replies })
    expect(await harness.say('Search')).toMatchObject({ answer: 'Done.' })
    // both texts of the turn have the word hello, and the hit of a turn is the better one
    expect(promptOf(harness)).toContain('"text":"Hello"')
    expect(promptOf(harness)).toContain('"text":"Hello! Attach a text, Markdown, CSV or PDF file')
  })
})
