import { HttpAgent } from '@ag-ui/client'
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { pausedTool, weather } from '../../../test/support/scenario-tools.ts'
import { closeServers, openServer, viewWhen } from '../../../test/support/server-fixture.ts'
import { reply } from '../../testing/scripted-model.ts'

afterEach(closeServers)

describe('an AG-UI client', () => {
  it('sends messages and reads their answers', async () => {
    const { server, client } = await openServer({
      replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.'), reply.answer('Still clear.')],
      tools: [weather()],
    })
    await client.conversations.create({ id: 'c1' })
    const agent = new HttpAgent({ url: `${server.url}/v1/conversations/c1/ag-ui`, threadId: 'c1' })
    for (const text of ['Rome?', 'And now?']) {
      agent.addMessage({ id: text, role: 'user', content: text })
      await agent.runAgent()
      await expect.poll(async () => (await client.conversations.get('c1')).open_turn).toBe(null)
    }
    expect(agent.messages.flatMap(({ role, content }) => (role === 'user' || (role === 'assistant' && content) ? [content] : []))).toEqual([
      'Rome?',
      'Clear.',
      'And now?',
      'Still clear.',
    ])
    expect((await viewWhen(client, 'c1', ({ turns }) => turns[1]?.endedAt !== undefined)).turns.map(({ prompt }) => prompt)).toEqual([
      'Rome?',
      'And now?',
    ])
  })

  it('reads the answer to a message that joined a running turn', async () => {
    const work = pausedTool()
    const { server, client } = await openServer({
      replies: [reply.call('paused.work'), reply.answer('Both done.')],
      tools: [work.tool],
    })
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'Work.')
    await viewWhen(client, 'c1', ({ live }) => live?.status === 'tool.started')
    const agent = new HttpAgent({ url: `${server.url}/v1/conversations/c1/ag-ui`, threadId: 'c1' })
    agent.addMessage({ id: 'm1', role: 'user', content: 'And this.' })
    const run = agent.runAgent()
    await viewWhen(client, 'c1', ({ waiting }) => waiting.some(({ text }) => text === 'And this.'))
    work.finish()
    await run
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Both done.' })
  })
})

describe('the chat transport of the AI SDK', () => {
  it('sends a message and reads the answer', async () => {
    const { server, client } = await openServer({
      replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')],
      tools: [weather()],
    })
    await client.conversations.create({ id: 'c1' })
    const transport = new DefaultChatTransport({ api: `${server.url}/v1/conversations/c1/ui-message` })
    const stream = await transport.sendMessages({
      trigger: 'submit-message',
      chatId: 'c1',
      messageId: undefined,
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Rome?' }] }],
      abortSignal: undefined,
    })
    let message: UIMessage | undefined
    for await (const state of readUIMessageStream({ stream })) message = state
    expect(message?.parts).toContainEqual(expect.objectContaining({ type: 'text', text: 'Clear.', state: 'done' }))
    expect(message?.parts).toContainEqual(
      expect.objectContaining({ type: 'dynamic-tool', toolName: 'weather.today', state: 'output-available' }),
    )
    expect((await client.timeline('c1')).blocks.find(({ type }) => type === 'user.prompt')?.text).toBe('Rome?')
  })

  it('resumes the running turn from its beginning, and gets no stream when no turn is running', async () => {
    const work = pausedTool()
    const { server, client } = await openServer({
      replies: [reply.answer('Before.'), reply.call('paused.work'), reply.answer('All done.')],
      tools: [work.tool],
    })
    await client.conversations.create({ id: 'c1', title: 'Work' })
    const transport = new DefaultChatTransport({ api: `${server.url}/v1/conversations/c1/ui-message` })
    expect(await transport.reconnectToStream({ chatId: 'any' })).toBe(null)
    await client.send('c1', 'Hello.')
    await expect.poll(async () => (await client.conversations.get('c1')).open_turn).toBe(null)
    expect((await fetch(`${server.url}/v1/conversations/c1/ui-message/any/stream`)).status).toBe(204)

    const { turn_id } = await client.send('c1', 'Work.')
    await viewWhen(client, 'c1', ({ live }) => live?.status === 'tool.started')
    const stream = await transport.reconnectToStream({ chatId: 'any' })
    work.finish()
    let message: UIMessage | undefined
    if (stream) for await (const state of readUIMessageStream({ stream })) message = state
    expect(message?.id).toBe(turn_id)
    expect(message?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))).toEqual(['All done.'])
    expect(message?.parts).toContainEqual(expect.objectContaining({ toolName: 'paused.work', state: 'output-available' }))
    expect((await fetch(`${server.url}/v1/conversations/nothing/ui-message/any/stream`)).status).toBe(204)
  })
})

describe('a conversation that does not exist yet', () => {
  const transportOf = (url: string) => new DefaultChatTransport({ api: `${url}/v1/conversations/new-1/ui-message` })
  const message = { id: 'm1', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hello.' }] }

  it('has no turn to resume, and is created by the first message of a client of the AI SDK', async () => {
    const { server, client } = await openServer({ replies: [reply.answer('Hi.'), reply.answer('Hi again.')] })
    const transport = transportOf(server.url)
    expect(await transport.reconnectToStream({ chatId: 'x' })).toBeNull()
    const send = async () => {
      const options = { trigger: 'submit-message' as const, chatId: 'x', messageId: undefined, messages: [message], abortSignal: undefined }
      let last: UIMessage | undefined
      for await (const state of readUIMessageStream({ stream: await transport.sendMessages(options) })) last = state
      return JSON.stringify(last)
    }
    expect(await send()).toContain('Hi.')
    expect(await send()).toContain('Hi again.')
    expect((await client.conversations.list()).conversations.map(({ id }) => id)).toEqual(['new-1'])
  })

  it('is created by the first message of an AG-UI client', async () => {
    const { server } = await openServer({ replies: [reply.answer('Hi.')] })
    const agent = new HttpAgent({ url: `${server.url}/v1/conversations/new-1/ag-ui`, threadId: 'new-1' })
    agent.addMessage({ id: 'm1', role: 'user', content: 'Hello.' })
    await agent.runAgent()
    expect(JSON.stringify(agent.messages)).toContain('Hi.')
  })

  it('is not created by a message that is refused', async () => {
    const { server, client } = await openServer()
    const post = (body: object) =>
      fetch(`${server.url}/v1/conversations/new-1/ui-message`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect((await post({ messages: [] })).status).toBe(400)
    expect((await post({ messages: [{ ...message, parts: [{ type: 'text', text: ' ' }] }] })).status).toBe(400)
    expect((await client.conversations.list()).conversations).toEqual([])
  })
})

describe.each(['ui-message', 'ag-ui'] as const)('while the server shuts down, a stream of %s', (as) => {
  const body = {
    'ui-message': { messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Work.' }] }] },
    'ag-ui': { threadId: 'c1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'Work.' }], tools: [], context: [], state: {} },
  }

  async function startTurn(drainMs: number) {
    const work = pausedTool()
    const { server, client, agent } = await openServer({
      replies: [reply.call('paused.work'), reply.answer('All done.')],
      tools: [work.tool],
      server: { drainMs },
    })
    await client.conversations.create({ id: 'c1' })
    const response = await fetch(`${server.url}/v1/conversations/c1/${as}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body[as]),
    })
    const text = response.text()
    await viewWhen(client, 'c1', ({ turns }) => JSON.stringify(turns).includes('paused.work'))
    return { work, server, agent, text }
  }

  it('goes on until the turn has ended', async () => {
    const { work, server, text } = await startTurn(20_000)
    const drained = server.drain()
    setTimeout(work.finish, 50)
    expect(await text).toContain('All done.')
    expect(await text).toMatch(/"type":"(finish|RUN_FINISHED)"/)
    expect(await text).not.toMatch(/error/i)
    await drained
  })

  it('says that it was interrupted if the turn takes too long', async () => {
    const { server, text } = await startTurn(50)
    await server.drain()
    expect(await text).toMatch(/"type":"(error|RUN_ERROR)"/)
  })
})
