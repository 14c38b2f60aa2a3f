import { afterEach, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createClient } from '../../src/client/client.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { answered, closeServers, openServer, viewWhen } from '../support/server-fixture.ts'

afterEach(closeServers)

/** A store whose claims wait while it is slow. */
function slowStore() {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
  let slow: PromiseWithResolvers<void> | undefined
  const claim: ConversationStore['claim'] = async (...args) => {
    await slow?.promise
    return store.claim(...args)
  }
  return {
    store: { ...store, claim },
    beSlow() {
      slow = Promise.withResolvers()
    },
    beFast() {
      slow?.resolve()
      slow = undefined
    },
  }
}

const names = ['a', 'b', 'c', 'd']

async function openSlowServer() {
  const { store, beSlow, beFast } = slowStore()
  const replies = names.flatMap(() => [reply.answer('Hello.')])
  const opened = await openServer({ store, model: scriptedModel(replies), server: { waitingMessages: 2 } })
  for (const id of names) await opened.client.conversations.create({ id })
  beSlow()
  return { ...opened, beFast }
}

it('while too many messages wait until they are stored, the next one gets 503 with Retry-After, and other requests are answered', async () => {
  const { client, server, lines, beFast } = await openSlowServer()
  const waiting = ['a', 'b'].map((id) => client.send(id, 'Hi'))
  const post = () =>
    fetch(`${server.url}/v1/conversations/c/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'Hi' }),
    })
  await expect.poll(async () => (await client.metrics()).includes('daybook_running_turns 2')).toBe(true)
  const refused = await post()
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(await refused.json()).toMatchObject({ code: 'server.overloaded' })
  expect((await client.conversations.list()).conversations).toHaveLength(names.length)
  expect(await client.stop('d')).toEqual({ stopped: false })
  expect((await client.conversations.get('c')).last_seq).toBe(0) // nothing of the refused message is stored
  beFast()
  await Promise.all(waiting)
  expect((await post()).status).toBe(202)
  expect(lines.filter((line) => line.includes('"error"'))).toEqual([])
})

it('the client waits and sends a refused message again: it is accepted and answered once', async () => {
  const { client, server, beFast } = await openSlowServer()
  const statuses: number[] = []
  const counting: typeof fetch = async (...args) => {
    const response = await fetch(...args)
    statuses.push(response.status)
    return response
  }
  const patient = createClient({ baseUrl: server.url, fetch: counting })
  const waiting = ['a', 'b'].map((id) => client.send(id, 'Hi'))
  await expect.poll(async () => (await client.metrics()).includes('daybook_running_turns 2')).toBe(true)
  const sent = patient.send('c', 'Hi')
  await expect.poll(() => statuses).toEqual([503])
  beFast()
  expect(await sent).toMatchObject({ status: 'processing_started' })
  expect(statuses).toEqual([503, 202])
  await Promise.all(waiting)
  const view = await viewWhen(client, 'c', answered)
  expect(view.turns).toHaveLength(1)
})

it('while many running turns wait for the store, messages are refused, although they could be stored at once', async () => {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
  const held = Promise.withResolvers<void>()
  const append: ConversationStore['append'] = async (claim, changes, options) => {
    const isMessage = changes.some(({ type }) => type === 'turn.opened')
    if (!isMessage) await held.promise
    return store.append(claim, changes, options)
  }
  const ids = Array.from({ length: 9 }, (_, index) => `c${index}`)
  const replies = ids.map(() => reply.answer('Hello.'))
  const { agent, client, server } = await openServer({
    store: { ...store, append },
    model: scriptedModel(replies),
    settings: { title: false },
    server: { messageWaitMs: 1 },
  })
  const post = (id: string) =>
    fetch(`${server.url}/v1/conversations/${id}/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'Hi' }),
    })
  for (const id of ids) await client.conversations.create({ id })
  for (const id of ids.slice(0, 8)) expect((await post(id)).status).toBe(202)
  await expect.poll(() => agent.slowCommits(3)).toBe(8) // the answers of the turns are not stored yet
  expect((await post('c8')).status).toBe(503)
  held.resolve()
  await expect.poll(() => agent.slowCommits(3)).toBe(0)
  expect((await post('c8')).status).toBe(202)
})
