import { afterAll, afterEach, expect, it } from 'vitest'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { createReplays } from '../support/replay-all.ts'
import { openTestStore } from '../support/stores.ts'

const replays = createReplays()
afterEach(replays.expectSame)
afterAll(() => expect(replays.count).toBeGreaterThan(2))

const limited = (seconds: number): Reply => ({
  error: { kind: 'rate_limited', retryable: true, retry_after_seconds: seconds, message: 'slow down' },
})

async function createWorld() {
  const clock = createFixedClock()
  return { clock, store: await openTestStore({ clock }) }
}

it('a turn waits for a provider that says when to ask again, and another process goes on with it', async () => {
  const world = await createWorld()
  const first = createHarness(replays.note({ ...world, replies: [limited(600)] }))
  const { exitReason, waits } = await first.say('Hello.')
  expect({ exitReason, waits }).toMatchObject({
    exitReason: 'waiting',
    waits: [{ kind: 'provider', expiresAt: '2026-01-01T00:10:00.000Z' }],
  })
  expect(await first.agent.waiting()).toMatchObject({ waits: [{ kind: 'provider' }] })
  await first.agent.close()
  const second = createHarness(replays.note({ ...world, replies: [reply.answer('Hello, late.')] }))
  expect((await second.agent.recover()).results).toEqual([])
  world.clock.advance(600_000)
  expect((await second.agent.recover()).results).toMatchObject([{ exitReason: 'complete', answer: 'Hello, late.' }])
})

it('a followup is read when the time is over, and a stop ends the wait', async () => {
  const world = await createWorld()
  const harness = createHarness(replays.note({ ...world, replies: [limited(600), reply.answer('Both.')] }))
  await harness.say('One.')
  expect((await harness.agent.run('c1', 'Two.').result).exitReason).toBe('waiting')
  expect(await harness.agent.stop('c1')).toBe(true)
  await harness.agent.drain(5_000)
  expect((await harness.journal()).findLast(({ type }) => type === 'turn.closed')).toMatchObject({ exit_reason: 'steer' })
})

it('a turn does not wait longer than the setting allows, in all', async () => {
  const world = await createWorld()
  const settings = { providerWaitSeconds: 1_000 }
  const harness = createHarness(replays.note({ ...world, replies: [limited(600), limited(600)], settings }))
  await harness.say('Hello.')
  world.clock.advance(600_000)
  await harness.agent.recover()
  await harness.agent.drain(5_000) // the agent may have gone on by itself before
  expect((await harness.journal()).findLast(({ type }) => type === 'turn.closed')).toMatchObject({ exit_reason: 'error' })
  const off = createHarness(replays.note({ replies: [limited(600)], settings: { providerWaitSeconds: 0 } }))
  expect((await off.say('Hello.')).exitReason).toBe('error')
})

it('a turn that has reached its limit of rounds waits, and its last call is made again', async () => {
  const world = await createWorld()
  const plan = reply.call('react.plan', { mode: 'new', steps: ['look'] })
  const settings = { maxRounds: 1 }
  const first = createHarness(replays.note({ ...world, replies: [plan, limited(600)], settings }))
  expect(await first.say('Hello.')).toMatchObject({ exitReason: 'waiting', waits: [{ kind: 'provider' }] })
  await first.agent.close()
  world.clock.advance(600_000)
  const second = createHarness(replays.note({ ...world, replies: [reply.answer('So far.')], settings }))
  expect((await second.agent.recover()).results).toMatchObject([{ exitReason: 'max_iterations', answer: 'So far.' }])
})
