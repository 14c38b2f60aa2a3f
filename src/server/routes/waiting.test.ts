import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bearer, tokenOf } from '../../../test/support/hostile/fixture.ts'
import { answered, closeServers, openServer, viewWhen } from '../../../test/support/server-fixture.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createSystemClock } from '../../adapters/clock/system.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { createAgentFrom } from '../../agent/agent.ts'
import { agentTool } from '../../agent/agent-tool.ts'
import { createClient } from '../../client/client.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { later } from '../../tools/outcome.ts'
import type { Tool } from '../../tools/tool.ts'

afterEach(closeServers)

const mail = (more: object = {}): Tool =>
  defineTool({
    id: 'mail.send',
    description: 'Sends a mail.',
    params: z.object({ to: z.string() }),
    approval: true,
    ...more,
    run: ({ to }) => ({ sent: to }),
  })
const print = defineTool({
  id: 'shop.print',
  description: 'Orders a print.',
  params: z.object({}),
  run: () => later({ note: 'the printer' }),
})

const send = reply.call('mail.send', { to: 'ann' })
const parked = ({ turns }: { readonly turns: readonly { readonly parked: boolean }[] }) => turns.some((turn) => turn.parked)

async function waitingServer(tools: readonly Tool[] = [mail()], replies = [send, reply.answer('Sent.')]) {
  const fixture = await openServer({ replies, tools })
  await fixture.client.conversations.create({ id: 'c1' })
  await fixture.client.send('c1', 'Write to Ann.')
  const view = await viewWhen(fixture.client, 'c1', parked)
  return { ...fixture, view, callId: view.turns[0]?.waits[0]?.call_id ?? '' }
}

describe('the routes for turns that wait', () => {
  it('list what waits, record a decision, and the turn goes on', async () => {
    const { client, callId } = await waitingServer()
    const wait = { conversation_id: 'c1', call_id: callId, kind: 'approval', tool_id: 'mail.send', params: { to: 'ann' } }
    expect(await client.waiting()).toMatchObject({ waits: [wait] })
    expect(await client.waiting({ conversationId: 'c1' })).toMatchObject({ waits: [wait] })
    expect(await client.decide('c1', callId, { approved: true, params: { to: 'zoe' } })).toEqual({ status: 'recorded' })
    expect(await client.decide('c1', callId, { approved: false })).toEqual({ status: 'known' })
    const { turns } = await viewWhen(client, 'c1', answered)
    expect(turns).toMatchObject([{ answers: [{ text: 'Sent.' }], waits: [], parked: false }])
    expect((await client.timeline('c1')).blocks.find(({ text }) => text?.includes('"sent":"zoe"'))).toBeDefined()
    expect(await client.waiting()).toEqual({ waits: [] })
  })

  it('take the id of the wait in place of the call', async () => {
    const { client, view } = await waitingServer()
    const waitId = view.turns[0]?.waits[0]?.wait_id ?? ''
    expect(waitId).toMatch(/^approve-/)
    expect(await client.decide('c1', waitId, { approved: true })).toEqual({ status: 'recorded' })
    expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Sent.' }] }])
    expect(await client.decide('c1', waitId, { approved: true })).toEqual({ status: 'known' })
  })

  it('accept the late result of a call', async () => {
    const { client, callId } = await waitingServer([print], [reply.call('shop.print'), reply.answer('Printed.')])
    expect(await client.complete('c1', callId, { ok: true, output: { pages: 12 } })).toEqual({ status: 'recorded' })
    expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Printed.' }] }])
    await expect(client.complete('c1', callId, { ok: true })).resolves.toEqual({ status: 'known' })
  })

  it('list the waits of sub-agents, and a user decides about them', async () => {
    const clock = createSystemClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const helper = createAgentFrom({ model: scriptedModel([send, reply.answer('Sent.')]), store, clock, tools: [mail()] })
    const tools = [agentTool(helper, { description: 'Writes mails.', params: z.object({ task: z.string() }) })]
    const replies = [reply.call('agents.ask', { task: 'Write to Ann.' }), reply.answer('Ann knows.')]
    const { server } = await openServer({ replies, tools, store, clock, server: { auth: bearer } })
    const client = createClient({ baseUrl: server.url, token: tokenOf({ sub: 'ann', tenant: 't', project: 'p' }) })
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'Write to Ann.')
    const childId = (await viewWhen(client, 'c1', parked)).turns[0]?.waits[0]?.child_id ?? ''
    expect(childId).toMatch(/^c1~call_/)
    const { waits } = await client.waiting({ conversationId: 'c1' })
    expect(waits).toMatchObject([
      { conversation_id: 'c1', kind: 'child', tool_id: 'agents.ask', child_id: childId },
      { conversation_id: childId, kind: 'approval', tool_id: 'mail.send' },
    ])
    expect((await client.waiting()).waits).toHaveLength(2)
    const stranger = createClient({ baseUrl: server.url, token: tokenOf({ sub: 'zoe', tenant: 't', project: 'p' }) })
    const callId = waits[1]?.call_id ?? ''
    await expect(stranger.decide(childId, callId, { approved: true })).rejects.toMatchObject({ status: 404 })
    expect(await client.decide(childId, callId, { approved: true })).toEqual({ status: 'recorded' })
    expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Ann knows.' }], waits: [] }])
    await helper.close()
  })

  it('answer with a clear problem for unknown conversations and calls, settled calls, and bodies of the wrong form', async () => {
    const { client, server, callId } = await waitingServer([print], [reply.call('shop.print'), reply.answer('Printed.')])
    await expect(client.decide('c2', callId, { approved: true })).rejects.toMatchObject({ status: 404, code: 'conversation.missing' })
    await expect(client.decide('c1', 'unknown', { approved: true })).rejects.toMatchObject({ status: 404, code: 'call.missing' })
    await expect(client.decide('c1', callId, { approved: true })).rejects.toMatchObject({ status: 409, code: 'call.settled' })
    for (const [route, body] of [
      ['decision', { approved: 'yes' }],
      ['decision', { approved: true, params: [] }],
      ['completion', { ok: false }],
      ['completion', { ok: true, output: 1, more: 1 }],
    ] as const) {
      const response = await fetch(`${server.url}/v1/conversations/c1/calls/${callId}/${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(response.status).toBe(400)
    }
    expect((await client.waiting()).waits).toHaveLength(1)
  })

  it('let users decide, unless the tool asks for an operator, and take late results only from operators', async () => {
    const claims = { sub: 'ann', tenant: 't', project: 'p' }
    const tools = [mail({ approver: 'operator' })]
    const { server } = await openServer({ replies: [send, reply.answer('Sent.')], tools, server: { auth: bearer } })
    const user = createClient({ baseUrl: server.url, token: tokenOf(claims) })
    const operator = createClient({ baseUrl: server.url, token: tokenOf({ ...claims, roles: ['operator'] }) })
    await user.conversations.create({ id: 'c1' })
    await user.send('c1', 'Write to Ann.')
    const callId = (await viewWhen(user, 'c1', parked)).turns[0]?.waits[0]?.call_id ?? ''
    expect((await user.waiting()).waits).toMatchObject([{ call_id: callId, approver: 'operator' }])
    await expect(user.decide('c1', callId, { approved: true })).rejects.toMatchObject({ status: 403, code: 'role.refused' })
    await expect(user.complete('c1', callId, { ok: true })).rejects.toMatchObject({ status: 403, code: 'role.refused' })
    await expect(user.decide('c1', `approve-${callId}`, { approved: true })).rejects.toMatchObject({ status: 403 })
    expect(await operator.decide('c1', callId, { approved: true })).toEqual({ status: 'recorded' })
    expect((await viewWhen(user, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Sent.' }] }])
  })
})

describe('the token of a call', () => {
  async function withToken() {
    let token = ''
    const order = defineTool({
      id: 'shop.print',
      description: 'Orders a print.',
      params: z.object({}),
      async run(_params, call) {
        token = (await call.completionToken?.()) ?? ''
        return later()
      },
    })
    const replies = [reply.call('shop.print'), reply.answer('Printed.')]
    const { server, store } = await openServer({ replies, tools: [order], server: { auth: bearer } })
    const user = createClient({ baseUrl: server.url, token: tokenOf({ sub: 'ann', tenant: 't', project: 'p' }) })
    await user.conversations.create({ id: 'c1' })
    await user.send('c1', 'Print.')
    const callId = (await viewWhen(user, 'c1', parked)).turns[0]?.waits[0]?.call_id ?? ''
    const deliver = async (given: string, call = callId, conversation = 'c1') => {
      const response = await fetch(`${server.url}/v1/conversations/${conversation}/calls/${call}/completion`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-completion-token': given },
        body: JSON.stringify({ ok: true, output: 'printed' }),
      })
      return [response.status, ((await response.json()) as { code?: string }).code]
    }
    return { token, callId, deliver, user, server, store }
  }

  it('delivers the result once, without another right, and is stored as a hash only', async () => {
    const { token, deliver, user, store } = await withToken()
    const key = (await store.list({ waits: true })).conversations[0]?.conversationId ?? ''
    const journal: unknown[] = []
    for await (const entry of store.readJournal(key, { after: 0 })) journal.push(entry)
    expect(JSON.stringify(journal)).not.toContain(token)
    expect(await deliver(token)).toEqual([202, undefined])
    expect((await viewWhen(user, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Printed.' }] }])
    expect(await deliver(token)).toEqual([403, 'call.refused'])
  })

  it('is refused for other calls and conversations, and gives no other right', async () => {
    const { token, callId, deliver, user, server } = await withToken()
    const [conversation, , secret] = token.split('.')
    for (const wrong of ['x', `${token}0`, `${conversation}.${callId}.0`, `.${callId}.${secret}`])
      expect((await deliver(wrong))[0]).toBe(403)
    expect((await deliver(token, 'other'))[0]).toBe(403)
    expect((await deliver(token, callId, 'c2'))[0]).toBe(403)
    for (const path of ['/v1/waiting', '/v1/conversations/c1/timeline']) {
      expect((await fetch(`${server.url}${path}`, { headers: { 'x-completion-token': token } })).status).toBe(401)
    }
    expect((await user.waiting()).waits).toHaveLength(1)
  })
})

describe('a stream of one turn', () => {
  it('ends with an approval request for an AI SDK client when the turn waits', async () => {
    const { client, server } = await openServer({ replies: [send, reply.answer('Sent.')], tools: [mail()] })
    await client.conversations.create({ id: 'c1' })
    const transport = new DefaultChatTransport({ api: `${server.url}/v1/conversations/c1/ui-message` })
    const stream = await transport.sendMessages({
      trigger: 'submit-message',
      chatId: 'c1',
      messageId: undefined,
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Write to Ann.' }] }],
      abortSignal: undefined,
    })
    let message: UIMessage | undefined
    for await (const state of readUIMessageStream({ stream })) message = state
    const [{ call_id: callId = '' } = {}] = (await client.waiting()).waits
    expect(message?.parts).toContainEqual(
      expect.objectContaining({
        type: 'dynamic-tool',
        toolName: 'mail.send',
        toolCallId: callId,
        state: 'approval-requested',
        approval: expect.objectContaining({ id: `approve-${callId}` }),
      }),
    )
  })

  it('ends with an interrupt for an AG-UI client when the turn waits', async () => {
    const { client, server } = await openServer({ replies: [send, reply.answer('Sent.')], tools: [mail()] })
    await client.conversations.create({ id: 'c1' })
    const response = await fetch(`${server.url}/v1/conversations/c1/ag-ui`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        threadId: 'c1',
        runId: 'r1',
        messages: [{ id: 'm1', role: 'user', content: 'Write to Ann.' }],
        tools: [],
        context: [],
      }),
    })
    const frames = (await response.text()).split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
    const [{ call_id: toolCallId } = {}] = (await client.waiting()).waits
    expect(frames.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'interrupt', interrupts: [{ id: `approve-${toolCallId}`, reason: 'tool_approval', toolCallId }] },
    })
  })

  it('tells chat clients that the turn waits, and that it goes on', async () => {
    const { client, server, callId } = await waitingServer()
    await client.decide('c1', callId, { approved: true })
    await viewWhen(client, 'c1', answered)
    const stop = new AbortController()
    const response = await fetch(`${server.url}/v1/conversations/c1/events?as=chat&after=0`, { signal: stop.signal })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      if (text.includes('"state":"idle"')) break
    }
    stop.abort()
    expect(text).toContain('"state":"waiting"')
    expect(text).toContain('turn.resumed')
    expect(text).not.toContain('token_sha256')
  })
})
