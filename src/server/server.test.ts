import { afterEach, describe, expect, it } from 'vitest'
import { pausedTool, weather } from '../../test/support/scenario-tools.ts'
import { answered, closeServers, openServer, viewWhen } from '../../test/support/server-fixture.ts'
import type { ConversationView } from '../client/view/conversation-view.ts'
import { type Reply, reply, scriptedModel } from '../testing/scripted-model.ts'

afterEach(closeServers)

const start = (replies: readonly Reply[]) => openServer({ replies, tools: [weather()] })

describe('a server', () => {
  it('accepts a message and streams the turn to its followers', async () => {
    const { client } = await start([
      reply.call('weather.today', { city: 'Rome' }),
      reply.answer('Clear.', { followups: ['And tomorrow?'] }),
    ])
    const { id } = await client.conversations.create({ title: 'Weather' })
    expect(await client.send(id, 'Rome?')).toMatchObject({ status: 'processing_started', conversation_id: id })
    const view = await viewWhen(client, id, answered)
    expect(view.turns).toMatchObject([{ prompt: 'Rome?', answers: [{ text: 'Clear.' }], followups: ['And tomorrow?'] }])
    expect((await client.timeline(id)).blocks.map(({ type }) => type)).toContain('assistant.completion')
    expect(await client.turnLog(id, view.turns[0]?.id ?? '')).toMatchObject({ turn_id: view.turns[0]?.id })
    expect(await client.turnResult(id, view.turns[0]?.id ?? '')).toMatchObject({
      ...{ exit_reason: 'complete', ok: true, answer: 'Clear.', followups: ['And tomorrow?'], rounds: 2, usage: { calls: 3 } },
      ...{ cost: { money: null, reason: 'no_prices' }, timings: { ended_at: view.turns[0]?.endedAt } },
    })
    await expect(client.turnResult(id, 'turn_none')).rejects.toMatchObject({ status: 404, code: 'turn.missing' })
    expect(await client.sources(id)).toEqual({ sources: [] })
    expect(await client.files(id)).toEqual({ files: [] })
  })

  it('accepts options of a turn, and refuses those that clients must not choose', async () => {
    const { client, agent } = await openServer({
      replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Usual.')],
      tools: [weather()],
      models: { fast: scriptedModel([reply.answer('Fast.')]) },
    })
    await client.conversations.create({ id: 'c1' })
    const { turn_id } = await client.send('c1', 'Hi.', { options: { model: 'fast', tools: ['weather.today'] } })
    await viewWhen(client, 'c1', answered)
    await expect.poll(() => [...agent.running]).toEqual([])
    expect(await client.turnResult('c1', turn_id ?? '')).toMatchObject({ answer: 'Fast.' })
    const refused = (options: object) =>
      expect(client.send('c1', 'Hi.', { options: options as never })).rejects.toMatchObject({
        name: expect.stringMatching(/InvalidOption|RequestRefused/),
      })
    const file = { name: 'a.txt', content: new Blob(['x']) }
    await client.send('c1', 'With a file.', { files: [file], options: { model: 'fast' }, idempotencyKey: 'with-file' })
    await expect(client.send('c1', 'x', { files: [file], options: { model: 'slow' } })).rejects.toMatchObject({ status: 400 })
    await viewWhen(client, 'c1', ({ turns }) => turns.at(-1)?.prompt === 'With a file.' && turns.at(-1)?.endedAt !== undefined)
    await expect.poll(() => [...agent.running]).toEqual([])
    expect((await client.turnResult('c1', (await viewWhen(client, 'c1', answered)).turns.at(-1)?.id ?? '')).answer).toBeDefined()
    await refused({ model: 'slow' })
    await refused({ tools: ['mail.send'] })
    await refused({ instructions: 'Obey me.' })
    await refused({ ask: ['mail.send'] })
    await client.conversations.create({ id: 'c2' })
    await client.send('c2', 'Hi.', { options: { ask: ['weather.*'] } })
    const { turns } = await viewWhen(client, 'c2', ({ turns }) => turns.at(-1)?.waits.length === 1)
    expect(turns.at(-1)?.waits).toMatchObject([{ kind: 'approval' }])
    await expect(client.send('c1', 'Hi.', { mode: 'steer', options: { model: 'fast' } })).rejects.toMatchObject({ status: 400 })
  })

  it('gives the output of a turn with an output schema, and refuses schemas with patterns', async () => {
    const { client, agent } = await start([reply.answer('{"n":1}')])
    await client.conversations.create({ id: 'c1' })
    const output = { type: 'object', properties: { n: { type: 'integer' }, pattern: { type: 'string' } }, required: ['n'] }
    const { turn_id } = await client.send('c1', 'Hi.', { options: { output } })
    await viewWhen(client, 'c1', answered)
    await expect.poll(() => [...agent.running]).toEqual([])
    expect(await client.turnResult('c1', turn_id ?? '')).toMatchObject({ output: { n: 1 }, answer: '{"n":1}' })
    for (const wrong of [{ properties: { n: { pattern: '(a+)+$' } } }, { type: 'strange' }, { not: { type: 'null' } }])
      await expect(client.send('c1', 'Hi.', { options: { output: wrong } })).rejects.toMatchObject({ status: 400 })
  })

  it('refuses a message to a conversation that does not exist, and creates it only if the client asks for that', async () => {
    const { client } = await start([reply.answer('One.'), reply.answer('Two.')])
    await expect(client.send('new', 'Hi.')).rejects.toMatchObject({ status: 404, code: 'conversation.missing' })
    const files = [{ name: 'a.txt', content: new Blob(['text']) }]
    await Promise.all([client.send('new', 'Hi.', { create: true, files }), client.send('new', 'And?', { create: true })])
    const messagesOf = ({ turns }: ConversationView) =>
      turns.flatMap(({ prompt, steps }) => [prompt, ...steps.flatMap((step) => (step.kind === 'message' ? step.text : []))])
    const view = await viewWhen(client, 'new', (now) => answered(now) && messagesOf(now).length === 2)
    expect(messagesOf(view).sort()).toEqual(['And?', 'Hi.'])
    await expect(client.send('../x', 'Hi.', { create: true })).rejects.toMatchObject({ status: 400 })
  })

  it('creates, lists, renames, forks, exports, imports and deletes conversations', async () => {
    const { client } = await start([reply.answer('One.')])
    const created = await client.conversations.create({ id: 'first' })
    await client.send('first', 'hello')
    await viewWhen(client, 'first', answered)
    expect(created).toMatchObject({ id: 'first', title: null })
    await client.conversations.change('first', { title: 'Renamed' })
    const forked = await client.conversations.fork('first', { id: 'second' })
    expect(forked).toMatchObject({ id: 'second', title: 'Renamed' })
    const bundle = await client.conversations.export('first')
    await client.conversations.import(bundle, 'third')
    const { conversations } = await client.conversations.list({ search: 'renamed' })
    expect(conversations.map(({ id }) => id).sort()).toEqual(['first', 'second', 'third'])
    await client.conversations.delete('second')
    await expect(client.conversations.get('second')).rejects.toMatchObject({ status: 404, code: 'conversation.missing' })
  })

  it('deletes a conversation during a turn: the turn is stopped, and nothing of it comes back', async () => {
    const work = pausedTool()
    const replies = [reply.call('paused.work'), reply.answer('Done.')]
    const { client } = await openServer({ replies, tools: [work.tool], settings: { stopGraceMs: 20 } })
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'hello')
    await viewWhen(client, 'c1', ({ live }) => live?.status === 'tool.started')
    await client.conversations.delete('c1')
    work.finish()
    await expect(client.conversations.get('c1')).rejects.toMatchObject({ status: 404 })
    await expect(client.conversations.delete('c1')).rejects.toMatchObject({ status: 404 })
    expect((await client.conversations.list({})).conversations).toEqual([])
    expect(await client.conversations.create({ id: 'c1' })).toMatchObject({ last_seq: 0 })
  })

  it('accepts a message that is sent twice only once', async () => {
    const { client } = await start([reply.answer('Once.')])
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'hello', { idempotencyKey: 'k1' })
    await viewWhen(client, 'c1', answered)
    await expect.poll(async () => (await client.conversations.get('c1')).open_turn).toBe(null)
    expect((await client.send('c1', 'hello', { idempotencyKey: 'k1' })).status).toBe('already_accepted')
    expect((await viewWhen(client, 'c1', answered)).turns).toHaveLength(1)
  })

  it('accepts a steer that is sent twice only once, during the turn and after it', async () => {
    const work = pausedTool()
    const replies = [reply.call('paused.work'), reply.answer('Paris.')]
    const { client } = await openServer({ replies, tools: [work.tool], settings: { stopGraceMs: 60_000 } })
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'hello')
    await viewWhen(client, 'c1', ({ live }) => live?.status === 'tool.started')
    for (const mode of ['steer', 'wrap_up'] as const) {
      const send = async () => (await client.send('c1', 'Paris!', { idempotencyKey: mode, mode })).status
      expect((await Promise.all([send(), send()])).sort()).toEqual(['already_accepted', 'steer_accepted'])
      expect(await send()).toBe('already_accepted')
    }
    work.finish()
    const { turns } = await viewWhen(client, 'c1', answered)
    expect(turns[0]?.steps.filter(({ kind }) => kind === 'message')).toHaveLength(2)
    await expect.poll(async () => (await client.conversations.get('c1')).open_turn).toBe(null)
    expect((await client.send('c1', 'Paris!', { idempotencyKey: 'steer', mode: 'steer' })).status).toBe('already_accepted')
  })

  it('accepts a message that is sent twice only once while its turn runs, and a followup that is sent twice', async () => {
    const work = pausedTool()
    const { client } = await openServer({ replies: [reply.call('paused.work'), reply.answer('Both.')], tools: [work.tool] })
    await client.conversations.create({ id: 'c1' })
    const send = async (text: string, idempotencyKey: string) => (await client.send('c1', text, { idempotencyKey })).status
    expect(await Promise.all([send('hello', 'k1'), send('hello', 'k1')])).toEqual(['processing_started', 'already_accepted'])
    await viewWhen(client, 'c1', ({ live }) => live?.status === 'tool.started')
    expect(await send('hello', 'k1')).toBe('already_accepted')
    expect(await send('and this', 'k2')).toBe('followup_accepted')
    expect(await send('and this', 'k2')).toBe('already_accepted')
    work.finish()
    expect((await viewWhen(client, 'c1', answered)).turns).toHaveLength(1)
  })

  it('serves its page, its OpenAPI document, health and metrics', async () => {
    const { client, server } = await start([])
    const page = await fetch(server.url)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(await page.text()).toContain('<title>Daybook</title>')
    expect(await client.health()).toEqual({ status: 'ok' })
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('daybook_requests_total')
    expect(await client.openapi()).toMatchObject({ openapi: '3.1.0', paths: { '/v1/conversations/{id}/turns': { post: {} } } })
  })

  it('counts turns, rounds, tokens and followers', async () => {
    const { client, server } = await start([
      { text: reply.call('weather.today', { city: 'Rome' }), usage: { uncached: 100, cacheRead: 20, cacheWrite: 3, output: 7 } },
      { text: reply.answer('Clear.'), usage: { uncached: 10, cacheRead: 123, cacheWrite: 0, output: 5 } },
    ])
    const numbers = async () =>
      (await (await fetch(`${server.url}/metrics`)).text()).split('\n').filter((line) => /^daybook_[a-z]/.test(line))
    await client.conversations.create({ id: 'c1', title: 'Weather' })
    await client.send('c1', 'Rome?')
    await viewWhen(client, 'c1', answered)
    expect(await numbers()).toEqual(
      expect.arrayContaining([
        'daybook_turns_total{exit_reason="complete"} 1',
        'daybook_rounds_total 2',
        'daybook_tokens_total{bucket="uncached"} 110',
        'daybook_tokens_total{bucket="cache_read"} 143',
        'daybook_tokens_total{bucket="cache_write"} 3',
        expect.stringMatching(/^daybook_tokens_total\{bucket="output"\} \d+$/), // including the tokens of the title
      ]),
    )
    await expect.poll(numbers).toEqual(expect.arrayContaining(['daybook_followers 0', 'daybook_running_turns 0']))
  })

  it('answers errors with a problem and a code', async () => {
    const { server } = await start([])
    const post = (path: string, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
      fetch(`${server.url}${path}`, { method: 'POST', body, headers })
    const missing = await fetch(`${server.url}/nothing`)
    expect([missing.status, missing.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
    expect(await missing.json()).toMatchObject({ code: 'route.missing', request_id: expect.any(String) })
    expect((await post('/v1/conversations', '{"id":"../x"}')).status).toBe(400)
    expect(await (await post('/v1/conversations', '{"titel":"x"}')).json()).toMatchObject({ code: 'request.invalid' })
    expect((await post('/v1/conversations', '['.repeat(1000) + ']'.repeat(1000))).status).toBe(400)
    expect((await post('/v1/conversations', 'x'.repeat(3_000_000))).status).toBe(413)
    expect((await post('/v1/conversations/nobody/turns', '{"text":"x"}')).status).toBe(404)
  })

  it('shuts down in order: followers are told, and new requests are rejected', async () => {
    const { client, server } = await start([reply.answer('One.')])
    await client.conversations.create({ id: 'c1' })
    const response = await fetch(`${server.url}/v1/conversations/c1/events?as=chat`)
    const stream = response.text()
    await server.drain()
    expect(await stream).toContain('event: server_shutdown')
  })

  it('answers 503 to new connections until running turns have ended', async () => {
    const work = pausedTool()
    const { client, server, lines } = await openServer({
      replies: [reply.call('paused.work'), reply.answer('Done.')],
      tools: [work.tool],
      server: { drainMs: 60_000 },
    })
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'Work.')
    await viewWhen(client, 'c1', ({ live }) => live?.status === 'tool.started')
    const drained = server.drain()
    const get = async (path: string) => (await fetch(`${server.url}${path}`, { headers: { connection: 'close' } })).status
    await expect.poll(() => get('/ready')).toBe(503)
    expect([await get('/v1/conversations'), await get('/health')]).toEqual([503, 200])
    work.finish()
    await drained
    await expect(get('/ready')).rejects.toThrow('fetch failed')
    expect(lines.filter((entry) => entry.includes('"level":"error"'))).toEqual([]) // a planned shutdown is not an error
  })
})
