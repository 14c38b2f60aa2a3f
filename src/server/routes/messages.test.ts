import { afterEach, describe, expect, it } from 'vitest'
import { pausedTool } from '../../../test/support/scenario-tools.ts'
import { closeServers, openServer, viewWhen } from '../../../test/support/server-fixture.ts'
import type { TurnView } from '../../client/view/conversation-view.ts'
import { reply } from '../../testing/scripted-model.ts'

afterEach(closeServers)

/** A server with a turn whose tool does not end, and two messages that wait. */
async function withWaitingMessages() {
  const { tool, finish } = pausedTool()
  const opened = await openServer({ replies: [reply.call(tool.id, {}), reply.answer('Done.'), reply.answer('Again.')], tools: [tool] })
  const { client } = opened
  await client.conversations.create({ id: 'c1' })
  await client.send('c1', 'Begin.', { idempotencyKey: 'first' })
  await viewWhen(client, 'c1', ({ live }) => live?.running.length === 1)
  await client.send('c1', 'One more thing.', { idempotencyKey: 'm1', files: [{ name: 'notes.txt', content: new Blob(['the notes']) }] })
  await client.send('c1', 'And another.', { idempotencyKey: 'm2' })
  const waiting = await viewWhen(client, 'c1', ({ waiting }) => waiting.length === 2)
  expect(waiting.waiting.map(({ text }) => text)).toEqual(['One more thing.', 'And another.'])
  return { ...opened, release: finish }
}

const messagesOf = async ({ client }: Awaited<ReturnType<typeof openServer>>) => {
  const { turns } = await viewWhen(client, 'c1', (view) => view.waiting.length === 0 && view.turns.at(-1)?.exitReason !== undefined)
  return { attachments: turns.flatMap(({ attachments }) => attachments.map(({ filename }) => filename)), texts: textsOf(turns) }
}

const textsOf = (turns: readonly TurnView[]) =>
  turns.flatMap(({ steps }) => steps.flatMap((step) => (step.kind === 'message' ? [step.text] : [])))

describe('a waiting message', () => {
  it('can be withdrawn, and then no turn reads it', async () => {
    const server = await withWaitingMessages()
    expect(await server.client.withdraw('c1', 'm1')).toEqual({ status: 'done' })
    await viewWhen(server.client, 'c1', ({ waiting }) => waiting.length === 1 && waiting[0]?.eventId === 'm2')
    await expect(server.client.withdraw('c1', 'm1')).rejects.toMatchObject({ status: 409, code: 'message.read' })
    server.release()
    expect(await messagesOf(server)).toEqual({ texts: ['And another.'], attachments: [] })
  })

  it('can be changed, and keeps its files', async () => {
    const server = await withWaitingMessages()
    const changed = await server.client.changeMessage('c1', 'm1', 'One better thing.', { idempotencyKey: 'm1b' })
    expect(changed).toEqual({ status: 'done', event_id: 'm1b' })
    expect(await server.client.changeMessage('c1', 'm1', 'One better thing.', { idempotencyKey: 'm1b' })).toEqual(changed)
    const view = await viewWhen(server.client, 'c1', ({ waiting }) => waiting.some(({ eventId }) => eventId === 'm1b'))
    expect(view.waiting.map(({ text }) => text)).toEqual(['And another.', 'One better thing.'])
    server.release()
    expect(await messagesOf(server)).toEqual({ texts: ['And another.', 'One better thing.'], attachments: ['notes.txt'] })
  })

  it('can not be withdrawn or changed once a turn has read it, and an unknown one does not exist', async () => {
    const server = await withWaitingMessages()
    const { client } = server
    await expect(client.withdraw('c1', 'first')).rejects.toMatchObject({ status: 409, code: 'message.read' })
    await expect(client.changeMessage('c1', 'first', 'x')).rejects.toMatchObject({ status: 409, code: 'message.read' })
    await expect(client.withdraw('c1', 'm9')).rejects.toMatchObject({ status: 404, code: 'message.missing' })
    await expect(client.withdraw('c2', 'm1')).rejects.toMatchObject({ status: 404, code: 'conversation.missing' })
    server.release()
    await messagesOf(server)
    await expect(client.withdraw('c1', 'm2')).rejects.toMatchObject({ status: 409, code: 'message.read' })
    expect((await messagesOf(server)).texts).toEqual(['One more thing.', 'And another.'])
  })

  it('can be withdrawn while the turn waits for an approval and no process runs it', async () => {
    const { tool } = pausedTool()
    const asked = { ...tool, approval: true } as typeof tool
    const { client } = await openServer({ replies: [reply.call(tool.id, {}), reply.answer('Refused.')], tools: [asked] })
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'Begin.')
    const { turns } = await viewWhen(client, 'c1', (view) => view.turns[0]?.parked === true)
    await client.send('c1', 'Hurry.', { idempotencyKey: 'm1' })
    await viewWhen(client, 'c1', ({ waiting }) => waiting.length === 1)
    expect(await client.withdraw('c1', 'm1')).toEqual({ status: 'done' })
    await viewWhen(client, 'c1', ({ waiting }) => waiting.length === 0)
    await client.decide('c1', turns[0]?.waits[0]?.call_id ?? '', { approved: false })
    const view = await viewWhen(client, 'c1', (now) => now.turns[0]?.exitReason !== undefined)
    expect(view.turns[0]?.steps.filter(({ kind }) => kind === 'message')).toEqual([])
  })
})

describe('the result of a message', () => {
  it('is that of the turn which answers it, during the turn and any number of times after it', async () => {
    const { client, server, release } = await withWaitingMessages()
    const pending = await fetch(`${server.url}/v1/conversations/c1/messages/first/result`)
    expect([pending.status, await pending.json()]).toEqual([202, { status: 'pending' }])
    const first = client.untilClosed('c1', 'first')
    const joined = client.untilClosed('c1', 'm2') // the message waits in the inbox, and the same turn reads it
    release()
    const result = await first
    expect(result).toMatchObject({ exit_reason: 'complete', answer: 'Done.' })
    expect(await joined).toEqual(result)
    expect(await client.untilClosed('c1', 'first')).toEqual(result)
  })

  it('is answered with `waiting` while the turn waits for an approval', async () => {
    const { tool } = pausedTool()
    const asked = { ...tool, approval: true } as typeof tool
    const { client, server } = await openServer({ replies: [reply.call(tool.id, {}), reply.answer('Refused.')], tools: [asked] })
    await client.send('c1', 'Begin.', { idempotencyKey: 'first', create: true })
    const { turns } = await viewWhen(client, 'c1', (view) => view.turns[0]?.parked === true)
    const waiting = await fetch(`${server.url}/v1/conversations/c1/messages/first/result`)
    expect([waiting.status, await waiting.json()]).toEqual([202, { status: 'waiting' }])
    await client.decide('c1', turns[0]?.waits[0]?.call_id ?? '', { approved: false })
    expect(await client.untilClosed('c1', 'first')).toMatchObject({ answer: 'Refused.' })
  })

  it('does not exist for a message that is unknown or was taken back', async () => {
    const { client, server, release } = await withWaitingMessages()
    const withdrawn = client.untilClosed('c1', 'm1')
    await client.withdraw('c1', 'm1')
    await expect(withdrawn).rejects.toMatchObject({ status: 410, code: 'message.withdrawn' })
    await expect(client.untilClosed('c1', 'm9')).rejects.toMatchObject({ status: 404, code: 'message.missing' })
    await expect(client.untilClosed('c2', 'm1')).rejects.toMatchObject({ status: 404, code: 'conversation.missing' })
    expect((await fetch(`${server.url}/v1/conversations/c1/messages/first/result?wait=1e9`)).status).toBe(400)
    const given = client.untilClosed('c1', 'first', { signal: AbortSignal.timeout(50) })
    await expect(given).rejects.toMatchObject({ name: 'TimeoutError' })
    release()
  })
})

describe('a request', () => {
  it('may have the type of JSON without a body, if the route needs no body', async () => {
    const { client, server } = await openServer({ replies: [] })
    await client.conversations.create({ id: 'c1' })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${server.url}/v1/conversations/c1`, { headers })).status).toBe(200)
    expect((await fetch(`${server.url}/v1/conversations/c1/stop`, { method: 'POST', headers })).status).toBe(202)
    const refused = await fetch(`${server.url}/v1/conversations/c1/turns`, { method: 'POST', headers })
    expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'request.invalid' }])
  })

  it('may send files as texts and bytes', async () => {
    const { client } = await openServer({ replies: [reply.answer('Read.')] })
    const files = [
      { name: 'a.txt', content: 'the notes' },
      { name: 'b.txt', content: new TextEncoder().encode('more notes') },
    ]
    const { event_id } = await client.send('c1', 'Read.', { create: true, files })
    await client.untilClosed('c1', event_id)
    const { blocks } = await client.timeline('c1')
    const sizes = blocks.flatMap(({ type, meta }) => (type === 'user.attachment.meta' ? [[meta?.filename, meta?.size_bytes]] : []))
    expect(sizes).toEqual([
      ['a.txt', 9],
      ['b.txt', 10],
    ])
  })
})
