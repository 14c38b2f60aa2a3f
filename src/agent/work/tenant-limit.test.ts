import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hasPostgres, startPostgres } from '../../../test/support/postgres.ts'
import { createSystemClock } from '../../adapters/clock/system.ts'
import { createPostgresStore } from '../../adapters/store/postgres/store.ts'
import { childKey } from '../../core/scope.ts'
import { opened, owner } from '../../testing/conformance/store/fixture.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { createAgentFrom } from '../agent.ts'
import type { Agent } from '../agent-interface.ts'
import { createOwner } from '../conversation/claim.ts'

const clock = createSystemClock()
const MAIL_SENT = 'the mail was sent'
const message = (id: string) => ({ event_id: id, kind: 'followup', ts: clock.now(), text: 'Hello.' }) as const

describe.skipIf(!hasPostgres)('the limit of running conversations per tenant', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const cleanUp: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const work of cleanUp.splice(0).reverse()) await work()
  })
  afterAll(() => server?.stop())

  /** A database, and stores of different processes on it. */
  async function createDatabase() {
    const url = (await server?.createDatabase()) ?? ''
    const open = async () => {
      const store = await createPostgresStore({ url, clock, maxConnections: 4 })
      cleanUp.push(() => store.close())
      return store
    }
    const query = async (sql: string) => {
      const client = new pg.Client({ connectionString: url, options: '-c search_path=daybook' })
      await client.connect()
      await client.query(sql)
      await client.end()
    }
    return { open, query }
  }

  /** Three servers that accept messages and run turns. `atOnce` is the highest number of model calls at the same time. */
  async function startServers(perTenant: number, textFor: (prompt: string) => string = () => reply.answer('Done.')) {
    const { open } = await createDatabase()
    const calls = { running: 0, atOnce: 0 }
    const slowReply: Reply = (request) => ({
      text: textFor(JSON.stringify(request)),
      async onChunk() {
        calls.atOnce = Math.max(calls.atOnce, ++calls.running)
        await new Promise((resolve) => setTimeout(resolve, 150))
        calls.running--
      },
    })
    const mail = defineTool({ id: 'mail.send', description: 'Sends a mail.', params: z.object({}), approval: true, run: () => MAIL_SENT })
    const agents: Agent[] = []
    for (let n = 0; n < 3; n++) {
      const model = scriptedModel(Array(20).fill(slowReply), { title: 'T' })
      const agent = createAgentFrom({ model, store: await open(), clock, tools: [mail] })
      cleanUp.push(() => agent.close())
      agent.work({ perTenant })
      agents.push(agent)
    }
    return { agents, calls, agentOf: (n: number) => agents[n % agents.length] as Agent }
  }

  it('holds for messages that arrive at several servers, each of which could start the turn itself', async () => {
    const { agentOf, calls } = await startServers(1)
    const ids = Array.from({ length: 6 }, (_, n) => `t1/p/u/c${n}`)
    const sent = await Promise.all(ids.map((id, n) => agentOf(n).send(id, 'Hello.', { eventId: 'e1' })))
    expect(sent.map(({ how }) => how)).toEqual(ids.map(() => 'followup'))
    const results = await Promise.all(ids.map((id) => agentOf(0).untilClosed(id, 'e1')))
    expect(results).toMatchObject(ids.map(() => ({ answer: 'Done.' })))
    expect(calls.atOnce).toBe(1)
    expect(await agentOf(1).run('t1/p/u/c0', 'And now?').result).toMatchObject({ answer: 'Done.' })
  })

  it('holds for turns that continue after an approval', async () => {
    const { agentOf, calls } = await startServers(1, (prompt) =>
      prompt.includes(MAIL_SENT) ? reply.answer('Done.') : reply.call('mail.send', {}),
    )
    const ids = Array.from({ length: 3 }, (_, n) => `t1/p/u/c${n}`)
    for (const [n, id] of ids.entries()) await agentOf(n).send(id, 'Send it.', { eventId: 'e1' })
    await expect.poll(async () => (await agentOf(0).waiting()).waits.length).toBe(ids.length)
    const { waits } = await agentOf(0).waiting()
    await Promise.all(waits.map(({ conversationId, callId = '' }, n) => agentOf(n).decide(conversationId, callId, { approved: true })))
    const results = await Promise.all(ids.map((id) => agentOf(0).untilClosed(id, 'e1')))
    expect(results).toMatchObject(ids.map(() => ({ answer: 'Done.' })))
    expect(calls.atOnce).toBe(1)
  })

  it('does not make the message of a sub-agent wait, because sub-agents are not in the work list', async () => {
    const { agentOf } = await startServers(1)
    expect(await agentOf(0).run(childKey('t1/p/u/c1', 'a'), 'Hello.').result).toMatchObject({ answer: 'Done.' })
  })

  it('counts running conversations whose earlier attempts have failed', async () => {
    const { open, query } = await createDatabase()
    const store = await open()
    const ids = ['t1/p/u/c1', 't1/p/u/c2', 't1/p/u/c3', 't1/p/u/c4']
    for (const id of ids) await store.offer(id, message('e1'), { create: true })
    await query(`UPDATE conversations SET attempt_seq = last_seq, attempts = CASE id WHEN 't1/p/u/c1' THEN 5 ELSE 9 END`)
    const limits = { maxAttempts: 20, runningPerTenant: 2 }
    const claimed = []
    for (const id of ids) claimed.push((await store.work.claimNext(owner(id), limits)).claim?.conversationId)
    expect(claimed).toEqual(['t1/p/u/c1', 't1/p/u/c2', undefined, undefined])
    expect(await store.work.summary()).toMatchObject({ waiting: 2, running: 2 })
  })

  it('does not count conversations of a dead process on this machine, even if earlier attempts have failed', async () => {
    const { open, query } = await createDatabase()
    const store = await open()
    const alive = createOwner(clock)
    const claim = await store.claim('t1/p/u/c1', { ...alive, id: 'dead', pid: 2 ** 22 + 1 }) // higher than any pid of Linux
    await store.append(claim, [opened('t1')])
    await query(`UPDATE conversations SET attempts = 9, retry_at = to_char(now() + interval '5 minutes', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
    await store.offer('t1/p/u/c2', message('e1'), { create: true })
    const { claim: next } = await store.work.claimNext({ ...alive, id: 'next' }, { maxAttempts: 20, runningPerTenant: 1 })
    expect(next?.conversationId).toBe('t1/p/u/c2')
  })
})
