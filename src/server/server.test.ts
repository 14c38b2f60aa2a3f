import { afterEach, describe, expect, it } from 'vitest'
import { weather } from '../../test/support/cast.ts'
import { createClient } from '../client/client.ts'
import { type ConversationView, emptyView } from '../client/view/conversation-view.ts'
import { foldEvent } from '../client/view/view.ts'
import { createHarness } from '../testing/harness.ts'
import { answers, calls, type Reply } from '../testing/scripted-model.ts'
import { noLog } from './log.ts'
import { createMetrics } from './metrics.ts'
import { type RunningServer, serve } from './serve.ts'
import { defaultServerSettings, type ServerSettings } from './settings.ts'

const running: RunningServer[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.drain()))
})

async function start(replies: readonly Reply[], more: Partial<ServerSettings> = {}) {
  const over: ((key: string) => void)[] = []
  const stage = createHarness({
    replies,
    tools: [weather()],
    onEntry: (key, { change }) => {
      if (change.type === 'turn.closed') for (const listener of over) listener(key)
    },
  })
  let ids = 0
  const server = await serve({
    agent: stage.agent,
    settings: { ...defaultServerSettings, port: 0, drainMs: 100, ...more },
    log: noLog,
    metrics: createMetrics({}),
    now: () => new Date().toISOString(),
    newId: () => `id_${++ids}`,
    onTurnOver: (listener) => void over.push(listener),
  })
  running.push(server)
  return { ...stage, server, client: createClient({ baseUrl: server.url }) }
}

type Client = ReturnType<typeof createClient>

async function viewAfter(client: Client, id: string, done: (view: ConversationView) => boolean): Promise<ConversationView> {
  const leave = new AbortController()
  let view = emptyView
  for await (const event of client.follow(id, { signal: leave.signal })) {
    view = foldEvent(view, event)
    if (!done(view)) continue
    leave.abort()
    break
  }
  return view
}
const answered = (view: ConversationView) => view.turns.at(-1)?.endedAt !== undefined

describe('a server', () => {
  it('takes a question, and tells what comes of it to whoever follows', async () => {
    const { client } = await start([calls('weather.today', { city: 'Rome' }), answers('Clear.', { followups: ['And tomorrow?'] })])
    const { id } = await client.conversations.create({ title: 'Weather' })
    expect(await client.submit(id, { text: 'Rome?' })).toMatchObject({ status: 'processing_started', conversation_id: id })
    const view = await viewAfter(client, id, answered)
    expect(view.turns).toMatchObject([{ prompt: 'Rome?', answers: [{ text: 'Clear.' }], followups: ['And tomorrow?'] }])
    expect((await client.timeline(id)).blocks.map(({ type }) => type)).toContain('assistant.completion')
    expect(await client.turnLog(id, view.turns[0]?.id ?? '')).toMatchObject({ turn_id: view.turns[0]?.id })
    expect(await client.sources(id)).toEqual({ sources: [] })
    expect(await client.files(id)).toEqual({ files: [] })
  })

  it('makes, lists, renames, forks, takes along and lets go', async () => {
    const { client } = await start([answers('One.')])
    const made = await client.conversations.create({ id: 'first' })
    await client.submit('first', { text: 'hello' })
    await viewAfter(client, 'first', answered)
    expect(made).toMatchObject({ id: 'first', title: null })
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

  it('knows a message that is sent twice', async () => {
    const { client } = await start([answers('Once.')])
    await client.conversations.create({ id: 'c1' })
    await client.submit('c1', { text: 'hello', idempotencyKey: 'k1' })
    await viewAfter(client, 'c1', answered)
    await expect.poll(async () => (await client.conversations.get('c1')).open_turn).toBe(null)
    expect((await client.submit('c1', { text: 'hello', idempotencyKey: 'k1' })).status).toBe('already_accepted')
    expect((await viewAfter(client, 'c1', answered)).turns).toHaveLength(1)
  })

  it('serves its page, its document and its state', async () => {
    const { client, server } = await start([])
    const page = await fetch(server.url)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(await page.text()).toContain('<title>Daybook</title>')
    expect(await client.health()).toEqual({ status: 'ok' })
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('daybook_requests_total')
    expect(await client.openapi()).toMatchObject({ openapi: '3.1.0', paths: { '/v1/conversations/{id}/turns': { post: {} } } })
  })

  it('says what is wrong as a problem with a code', async () => {
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

  it('goes down in order: followers are told, and nothing new is taken', async () => {
    const { client, server } = await start([answers('One.')])
    await client.conversations.create({ id: 'c1' })
    const response = await fetch(`${server.url}/v1/conversations/c1/events?as=chat`)
    const told = response.text()
    await server.drain()
    running.length = 0
    expect(await told).toContain('event: server_shutdown')
  })
})
