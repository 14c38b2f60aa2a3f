import { afterEach, expect, it, vi } from 'vitest'
import { answered, closeServers, openServer, viewWhen } from '../../test/support/server-fixture.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createSystemClock } from '../adapters/clock/system.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import type { Agent } from '../agent/agent.ts'
import type { Clock } from '../ports/clock.ts'
import { LEASE_MS } from '../ports/store.ts'
import { accepted } from '../testing/conformance/store-fixture.ts'
import { createFixedClock } from '../testing/fixed-clock.ts'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import { createLog } from './log.ts'
import { startRecovery } from './recovery.ts'

afterEach(async () => {
  vi.useRealTimers()
  await closeServers()
})

const otherMachine = { id: 'other', host: 'elsewhere', pid: 1 }

it('a server resumes the work of a process whose death can not be proven when its lease ends, without a restart', async () => {
  const system = createSystemClock()
  let late = LEASE_MS - 500 // at first the clock of the store is behind, so the lease ends half a second from now
  const clock: Clock = { ...system, now: () => new Date(Date.parse(system.now()) - late).toISOString() }
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const claim = await store.claim('c1', otherMachine)
  await store.append(claim, [accepted('e1')])
  late = 0
  const { client, lines } = await openServer({ store, clock: system, replies: [reply.answer('Here I am.')] })
  await expect(client.conversations.change('c1', { title: 'Mine' })).rejects.toMatchObject({
    status: 409,
    code: 'conversation.busy',
    message: expect.stringContaining(claim.expiresAt),
  })
  expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject([{ answers: [{ text: 'Here I am.' }] }])
  expect(lines.filter((line) => line.includes('recover.skipped')).map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', conversation: 'c1', until: claim.expiresAt, host: 'elsewhere', pid: 1 },
  ])
})

/**
 * Starts recovery with a clock and timers that the test controls, and records the times of its attempts. All times are in seconds since the
 * start.
 */
function startWithFakeTime(recover: (skip: (conversationId: string, until: number) => void) => Promise<void>) {
  vi.useFakeTimers()
  const clock = createFixedClock()
  const begin = Date.parse(clock.now())
  const lines: string[] = []
  const attempts: number[] = []
  const agent: Pick<Agent, 'recover' | 'continueOffered'> = {
    continueOffered: () => () => {},
    async recover({ onSkipped } = {}) {
      attempts.push((Date.parse(clock.now()) - begin) / 1000)
      await recover((conversationId, until) => onSkipped?.({ conversationId, until: new Date(begin + until * 1000).toISOString() }))
      return { results: [], skipped: [] }
    },
  }
  const log = createLog((line) => void lines.push(line), clock.now)
  const stop = startRecovery(agent, log, clock.now)
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds * 10; n++) {
      clock.advance(100)
      await vi.advanceTimersByTimeAsync(100)
    }
  }
  return { attempts, lines, pass, stop }
}

it('tries again at the end of the first lease, every half minute otherwise, and no more when it is stopped', async () => {
  const leases = [12, 5]
  const recovery = startWithFakeTime(async (skip) => {
    for (const [n, until] of leases.entries()) skip(`c${n}`, until)
  })
  await recovery.pass(4.9)
  leases.pop()
  await recovery.pass(7)
  leases.pop()
  await recovery.pass(100)
  expect(recovery.attempts).toEqual([0, 5, 12, 42, 72, 102])
  recovery.stop()
  await recovery.pass(100)
  expect(recovery.attempts).toHaveLength(6)
  expect(recovery.lines.map((line) => JSON.parse(line).conversation)).toEqual(['c0', 'c1']) // once per conversation, not at every attempt
})

it('tries again while a resumed turn is still running, and after an attempt that failed', async () => {
  let attempt = 0
  const recovery = startWithFakeTime((skip) => {
    attempt += 1
    if (attempt > 1) return Promise.reject(new Error('the disk is full'))
    skip('c1', 20)
    return new Promise(() => {})
  })
  await recovery.pass(60)
  expect(recovery.attempts).toEqual([0, 20, 50])
  expect(recovery.lines.filter((line) => line.includes('recover.failed'))).toHaveLength(2)
})

it('pauses between attempts also when a lease should have ended already', async () => {
  const recovery = startWithFakeTime(async (skip) => skip('c1', -5))
  await recovery.pass(1)
  expect(recovery.attempts).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
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
