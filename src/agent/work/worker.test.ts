import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createSystemClock } from '../../adapters/clock/system.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { conversationKey } from '../../core/scope.ts'
import type { Clock } from '../../ports/clock.ts'
import type { NextWork } from '../../ports/store/work-list.ts'
import { type Claim, type ConversationStore, LEASE_MS } from '../../ports/store.ts'
import { opened } from '../../testing/conformance/store/fixture.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { type AgentParts, createAgentFrom } from '../agent.ts'
import type { Agent } from '../agent-interface.ts'
import type { RunningConversation } from '../conversation/context.ts'
import { startWorker } from './worker.ts'

const open: Agent[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((agent) => agent.close()))
})

/** A store whose clock can be set forward, and agents that share it. */
function createShared() {
  const system = createSystemClock()
  let ahead = 0
  const clock: Clock = { ...system, now: () => new Date(Date.parse(system.now()) + ahead).toISOString() }
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const problems: string[] = []
  const agentWith = (replies: readonly Reply[], parts: Partial<AgentParts> = {}): Agent => {
    const onProblem: AgentParts['onProblem'] = ({ where }) => void problems.push(where)
    const agent = createAgentFrom({ model: scriptedModel(replies, { title: 'T' }), store, clock, onProblem, ...parts })
    open.push(agent)
    return agent
  }
  const advance = (ms: number) => {
    ahead += ms
  }
  return { store, clock, problems, agentWith, advance }
}

const say = (store: ConversationStore, id: string, eventId: string) =>
  store.offer(id, { event_id: eventId, kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: eventId }, { create: true })

const isIdle = async (store: ConversationStore, id: string) => {
  const head = await store.head(id)
  return head !== undefined && head.lastSeq > 0 && head.openTurn === null && head.waiting.length === 0 && head.offers === 0
}

/** Replies that are held back until `resume` is called. `called` counts the calls. */
function heldReplies(count: number) {
  const resumed = Promise.withResolvers<void>()
  const held = { called: 0, resume: resumed.resolve, replies: [] as Reply[] }
  for (let n = 0; n < count; n++)
    held.replies.push({
      text: reply.answer(`Answer ${n}.`),
      async onChunk() {
        held.called++
        await resumed.promise
      },
    })
  return held
}

/** A clock whose time changes only when `advance` is called. */
function createVirtualTime() {
  let now = 0
  const due = new Set<{ readonly at: number; readonly run: () => void }>()
  const after = (ms: number, run: () => void) => {
    const timer = { at: now + ms, run }
    due.add(timer)
    return () => void due.delete(timer)
  }
  return {
    nowMs: () => now,
    after,
    sleep: (ms: number) => new Promise<void>((resolve) => void after(ms, resolve)),
    async advance(ms: number) {
      const end = now + ms
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve)) // lets the code run that waited for the last timer
        const next = [...due].reduce<{ readonly at: number; readonly run: () => void } | undefined>(
          (first, timer) => (first && first.at <= timer.at ? first : timer),
          undefined,
        )
        if (!next || next.at > end) break
        due.delete(next)
        now = next.at
        next.run()
      }
      now = end
    },
  }
}

describe('a worker', () => {
  it('runs at most as many conversations as it may, including those that callers start, and the others wait in the store', async () => {
    const { store, agentWith } = createShared()
    const held = heldReplies(6)
    const agent = agentWith(held.replies)
    for (const n of [0, 1, 2]) await say(store, `c${n}`, 'e1')
    agent.work({ conversations: 2 })
    await expect.poll(() => held.called).toBe(2)
    expect(await agent.send('c9', 'Me too.', { eventId: 'e1' })).toEqual({ how: 'followup', turnId: undefined, eventId: 'e1' })
    expect([...agent.running].length).toBe(2)
    expect(await store.work.summary()).toMatchObject({ waiting: 2, running: 2 })
    held.resume()
    for (const id of ['c0', 'c1', 'c2', 'c9']) await expect.poll(() => isIdle(store, id)).toBe(true)
    expect(await agent.send('c9', 'Again.')).toMatchObject({ how: 'turn' }) // the worker has a free slot again
  })

  it('resumes the turn of a process on another machine as soon as its lease has ended', async () => {
    const { store, agentWith, advance } = createShared()
    const claim = await store.claim('c1', { id: 'other', host: 'elsewhere', pid: 1 })
    await store.append(claim, [opened('t1')])
    advance(LEASE_MS - 300)
    agentWith([reply.answer('Resumed.')]).work()
    await expect.poll(() => isIdle(store, 'c1'), { timeout: 4_000, interval: 20 }).toBe(true) // earlier than the next check after 5 seconds
    expect(await store.append(claim, []).catch(({ code }) => code)).toBe('conversation.superseded')
  })

  it('tries a conversation whose turns fail again after a pause, parks it in the end, and runs it when it is told to', async () => {
    const { store, problems, agentWith, advance } = createShared()
    let broken = true
    const failing: ConversationStore = {
      ...store,
      async append(claim, changes, options) {
        if (broken && changes.some(({ type }) => type === 'turn.opened')) throw new Error('the disk is full')
        return store.append(claim, changes, options)
      },
    }
    const agent = agentWith([reply.answer('At last.')], { store: failing })
    await say(store, 'c1', 'e1')
    agent.work({ attempts: 3 })
    const attempts = () => problems.filter((where) => where === 'turn').length
    for (const attempt of [1, 2, 3]) {
      await expect.poll(attempts).toBe(attempt)
      await new Promise((resolve) => setTimeout(resolve, 30))
      expect(attempts()).toBe(attempt) // the conversation is not tried again without a pause
      advance(10_000)
      await say(store, `other${attempt}`, 'e0').then(() => store.delete(`other${attempt}`)) // wakes the worker
    }
    await expect.poll(async () => (await store.head('c1'))?.parked).toMatchObject({ attempts: 3, reason: 'the disk is full' })
    broken = false
    expect(await agent.archive.work.retry('c1')).toBe(true)
    await expect.poll(() => isIdle(store, 'c1')).toBe(true)
    expect((await store.head('c1'))?.parked).toBe(undefined)
  })

  it('waits before it claims a conversation again that is listed as unfinished although nothing is left to do', async () => {
    const { store, agentWith } = createShared()
    let claims = 0
    const drifted: ConversationStore = {
      ...store,
      readOffers: async () => [],
      work: {
        ...store.work,
        async claimNext(...args) {
          const next = await store.work.claimNext(...args)
          if (next.claim) claims++
          return next
        },
      },
    }
    await say(store, 'c1', 'e1')
    agentWith([], { store: drifted }).work()
    await expect.poll(() => claims).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(claims).toBe(1)
  })

  it('hands a turn over when its agent is closed, and this does not count as a failed attempt', async () => {
    const { store, agentWith } = createShared()
    const held = heldReplies(1)
    const first = agentWith(held.replies)
    await say(store, 'c1', 'e1')
    first.work({ attempts: 1 })
    await expect.poll(() => held.called).toBe(1)
    await first.close()
    agentWith([reply.answer('Taken over.')]).work({ attempts: 1 })
    await expect.poll(() => isIdle(store, 'c1')).toBe(true)
  })

  it('can not be started by an agent that only accepts messages', () => {
    const { agentWith } = createShared()
    expect(() => agentWith([], { acceptOnly: true }).work()).toThrow('acceptOnly')
    expect(() => agentWith([]).work({ conversations: 0 })).toThrow('conversations')
  })

  it('keeps some of its slots for tenants that run little, as soon as it has seen two tenants', async () => {
    const { store, agentWith } = createShared()
    const held = heldReplies(17)
    const agent = agentWith(held.replies)
    const key = (tenant: string, n: number) => conversationKey({ tenant, project: 'p', user: 'u' }, `c${n}`)
    await say(store, key('quiet', 0), 'e1')
    agent.work({ conversations: 16 })
    await expect.poll(() => held.called).toBe(1)
    for (let n = 0; n < 40; n++) await say(store, key('flood', n), 'e1')
    await expect.poll(() => held.called).toBe(14)
    // The message waits in the work list.
    expect(await agent.send(key('flood', 40), 'Me too.', { eventId: 'e1' })).toMatchObject({ turnId: undefined })
    for (const n of [1, 2]) await say(store, key('quiet', n), 'e1')
    await expect.poll(() => held.called).toBe(16)
    const quiet = [...agent.running].filter((id) => id.startsWith('quiet/'))
    expect([quiet.length, [...agent.running].length]).toEqual([3, 16])
  })

  it('uses all its slots if there are no tenants', async () => {
    const { store, agentWith } = createShared()
    const held = heldReplies(16)
    for (let n = 0; n < 20; n++) await say(store, `c${n}`, 'e1')
    agentWith(held.replies).work({ conversations: 16 })
    await expect.poll(() => held.called).toBe(16)
  })

  it('starts the first message of another tenant at once, whatever the first tenant has sent before', async () => {
    const { store, agentWith } = createShared()
    const held = heldReplies(16)
    const key = (tenant: string, n: number) => conversationKey({ tenant, project: 'p', user: 'u' }, `c${n}`)
    for (let n = 0; n < 20; n++) await say(store, key('flood', n), 'e1')
    const agent = agentWith(held.replies)
    agent.work({ conversations: 16 })
    await expect.poll(() => held.called).toBe(15)
    await say(store, key('quiet', 0), 'e1')
    await expect.poll(() => held.called).toBe(16)
    expect([...agent.running].filter((id) => id.startsWith('quiet/'))).toEqual([key('quiet', 0)])
  })

  it('claims less for a tenant with many messages while turns start slowly, and all it can if there is no other tenant', async () => {
    /** How many conversations of the tenant a worker claims in 5 seconds, if a claim takes 1 ms and what follows `startMs`. */
    const claimsIn = async (startMs: number, tenants: readonly string[]) => {
      const time = createVirtualTime()
      let claims = 0
      const claimNext = async (_: unknown, { leftOut = [] }: { readonly leftOut?: readonly string[] }): Promise<NextWork> => {
        await time.sleep(1)
        if (leftOut.includes('flood')) return {}
        const found = { lastSeq: 0, offers: 1 } as Claim['found']
        return { claim: { conversationId: `flood/p/u/c${++claims}`, ownerId: 'w', epoch: claims, expiresAt: '', found } }
      }
      const worker = startWorker({
        store: { work: { claimNext }, release: async () => {} } as unknown as ConversationStore,
        owner: { id: 'w', host: 'h', pid: 1 },
        conversations: {
          size: 0,
          byTenant: () => new Map(),
          async startClaimed() {
            await time.sleep(startMs)
            return { firstResult: Promise.resolve(undefined) } as unknown as RunningConversation
          },
        },
        upkeep: async () => {},
        onProblem: ({ error }) => {
          throw error
        },
        timers: time,
      })
      for (const tenant of tenants) worker.wake(`${tenant}/p/u/c0`)
      await time.advance(5_000)
      worker.stop()
      return claims
    }
    const [fast, slow, alone] = [await claimsIn(1, ['quiet']), await claimsIn(24, ['quiet']), await claimsIn(24, [])]
    expect(fast / slow).toBeGreaterThan(6)
    expect(slow).toBeGreaterThan(20)
    expect(alone).toBeGreaterThan(4_000) // one for each millisecond
  })

  it('serves the tenants one after the other: between two conversations of one tenant, every other tenant that waits is served', async () => {
    const tenants = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(tenants, async (owners) => {
        const { store } = createShared()
        for (const [n, tenant] of owners.entries())
          await say(store, conversationKey({ tenant: `t${tenant}`, project: 'p', user: 'u' }, `c${n}`), 'e1')
        const served: string[] = []
        for (;;) {
          const { claim } = await store.work.claimNext({ id: 'w', host: 'h', pid: 1 }, { maxAttempts: 3 })
          if (!claim) break
          served.push(claim.conversationId.split('/')[0] ?? '')
        }
        expect(served.length).toBe(owners.length)
        for (const [at, tenant] of served.entries()) {
          const before = served.lastIndexOf(tenant, at - 1)
          if (at === 0 || before < 0) continue
          const between = served.slice(before + 1, at)
          // All these tenants waited from the beginning.
          const passedOver = served.slice(at).filter((other) => other !== tenant && !between.includes(other))
          expect(passedOver).toEqual([])
        }
      }),
      { numRuns: 50 },
    )
  })
})
