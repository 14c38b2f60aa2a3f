import { afterEach, expect, it } from 'vitest'
import { answered, closeServers, openServer, viewWhen } from '../../test/support/server-fixture.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createSystemClock } from '../adapters/clock/system.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import type { Clock } from '../ports/clock.ts'
import { type ConversationStore, LEASE_MS } from '../ports/store.ts'
import { accepted } from '../testing/conformance/store/fixture.ts'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'

afterEach(async () => {
  await closeServers()
})

const otherMachine = { id: 'other', host: 'elsewhere', pid: 1 }

it('a server resumes the work of a process whose death can not be proven when its lease ends, without a restart', async () => {
  const system = createSystemClock()
  let late = LEASE_MS - 3_000 // at first the clock of the store is behind, so that the lease ends three seconds from now
  const clock: Clock = { ...system, now: () => new Date(Date.parse(system.now()) - late).toISOString() }
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const claim = await store.claim('c1', otherMachine)
  await store.append(claim, [accepted('e1')])
  late = 0
  const { client } = await openServer({ store, clock: system, replies: [reply.answer('Here I am.')] })
  await expect(client.conversations.change('c1', { title: 'Mine' })).rejects.toMatchObject({
    status: 409,
    code: 'conversation.busy',
    message: expect.stringContaining(claim.expiresAt),
  })
  expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Here I am.' }] }])
})

it('a living owner is skipped again and again, and its turn is not disturbed', async () => {
  const harness = createHarness({ replies: [] })
  const claim = await harness.store.claim('c1', otherMachine)
  await harness.store.append(claim, [accepted('e1')])
  for (let n = 0; n < 5; n++) {
    harness.clock.advance(LEASE_MS - 1)
    await harness.store.renew(claim)
    const { skipped } = await harness.agent.recover()
    expect(skipped).toMatchObject([{ until: new Date(Date.parse(harness.clock.now()) + LEASE_MS).toISOString() }])
  }
  expect(await harness.journal()).toHaveLength(1)
})

/** Offers messages to conversations of a tenant that no process runs. */
const flood = async (store: ConversationStore, ids: readonly string[]) => {
  for (const id of ids)
    await store.offer(id, { event_id: 'e1', kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: 'Hello.' }, { create: true })
}

it('a web server refuses messages of a tenant for whom too much work waits, and tells its metrics about the work', async () => {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
  const { client, server } = await openServer({ store, acceptOnly: true, server: { role: 'web', workBacklog: 2 } })
  await client.conversations.create({ id: 'mine' })
  expect(await client.send('mine', 'First.', { idempotencyKey: 'm1' })).toMatchObject({ status: 'followup_accepted', turn_id: null })
  await flood(store, ['other/p/u/c1', 'other/p/u/c2', 'other/p/u/c3', 'a', 'b'])
  await expect
    .poll(async () => {
      const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"Second."}' }
      const response = await fetch(`${server.url}/v1/conversations/mine/turns`, body)
      return [response.status, response.headers.get('retry-after'), ((await response.json()) as { code: string }).code]
    })
    .toEqual([503, '5', 'server.overloaded'])
  const metrics = await client.metrics()
  expect(metrics).toMatch(/^daybook_replica_info\{replica="[^"]+-\d+",role="web"\} 1$/m)
  expect(metrics).toMatch(/^daybook_work_waiting 6$/m)
  expect(metrics).toMatch(/^daybook_work_running 0$/m)
  expect(metrics).toMatch(/^daybook_store_metrics 1$/m)
})

it.each([
  ['fails', () => Promise.reject(new Error('connect ECONNREFUSED'))],
  ['does not answer', () => new Promise<never>(() => {})],
])('the metrics of the process are served even if the store %s, and those of the store are left out', async (_, summary) => {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
  const { client, lines } = await openServer({ store: { ...store, work: { ...store.work, summary } } })
  await client.health()
  const metrics = await client.metrics()
  expect(metrics).toMatch(/^daybook_running_turns 0$/m)
  expect(metrics).toMatch(/^daybook_requests_total\{/m)
  expect(metrics).toMatch(/^daybook_store_metrics 0$/m)
  expect(metrics).not.toMatch(/daybook_(work|budget|oldest_lease)/)
  expect(lines.filter((line) => line.includes('"metrics.incomplete"'))).toHaveLength(1)
})

it('operators see parked conversations, and a retry runs them again', async () => {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
  await flood(store, ['c1'])
  const { claim } = await store.work.claimNext(otherMachine, { maxAttempts: 1 })
  if (claim) await store.release(claim, { failed: 'no answer' })
  await new Promise((resolve) => setTimeout(resolve, 1_050))
  await store.work.claimNext(otherMachine, { maxAttempts: 1 })
  const { client } = await openServer({ store, replies: [reply.answer('Here I am.')] })
  expect(await client.parked()).toEqual({ parked: [{ id: 'c1', at: expect.any(String), attempts: 1, reason: 'no answer' }] })
  expect(await client.retry('c1')).toEqual({ retried: true })
  expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Here I am.' }] }])
  expect(await client.retry('c1')).toEqual({ retried: false })
  expect(await client.metrics()).toMatch(/^daybook_event_delay_seconds_count 1$/m)
})

it('the log names each turn that an earlier process has left open and that goes on', async () => {
  const { agent, store } = createHarness({ replies: [{ text: 'A part', stall: true }] })
  const turn = agent.run('c1', 'Hello?')
  for await (const event of turn) {
    if (event.type === 'status' && event.status === 'deciding') break
  }
  await agent.close()
  const { turnId } = await turn.result
  const { client, lines } = await openServer({ store, replies: [reply.answer('Here I am.')] })
  await viewWhen(client, 'c1', answered)
  const resumed = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'turn.resumed')
  expect(resumed).toMatchObject([{ level: 'info', conversation: 'c1', turn: turnId }])
})
