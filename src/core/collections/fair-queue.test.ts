import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFairQueue } from './fair-queue.ts'

const tick = () => new Promise<void>((resolve) => void setImmediate(resolve))

it('a user with many jobs leaves a worker to others, and the users are served one after the other', async () => {
  const enqueue = createFairQueue(['w1', 'w2'], 1)
  const started: string[] = []
  const ends: (() => void)[] = []
  const job = (name: string) => () => {
    started.push(name)
    return new Promise<void>((resolve) => void ends.push(resolve))
  }
  for (const name of ['a1', 'a2', 'a3', 'a4']) void enqueue('ann', job(name))
  for (const name of ['b1', 'b2']) void enqueue('bob', job(name))
  void enqueue('eve', job('e1'))
  expect(started).toEqual(['a1', 'b1'])
  ends[0]?.()
  await tick()
  expect(started).toEqual(['a1', 'b1', 'a2']) // bob has a worker, so ann is next
  ends[1]?.()
  await tick()
  expect(started).toEqual(['a1', 'b1', 'a2', 'b2']) // bob has waited longer than eve
  ends[2]?.()
  await tick()
  expect(started).toEqual(['a1', 'b1', 'a2', 'b2', 'e1']) // ann has two more jobs than eve, but eve is next
})

it('runs every job once with its own result, within the limits, even if jobs fail', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ user: fc.constantFrom('a', 'b', 'c'), ticks: fc.nat(3), fails: fc.boolean() }), { maxLength: 20 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 3 }),
      async (jobs, workers, maxPerUser) => {
        const enqueue = createFairQueue(
          Array.from({ length: workers }, (_, index) => index),
          maxPerUser,
        )
        const busy = new Set<number>()
        const users: string[] = []
        const results = await Promise.allSettled(
          jobs.map(({ user, ticks, fails }, index) =>
            enqueue(user, async (worker) => {
              expect(busy.has(worker)).toBe(false)
              busy.add(worker)
              users.push(user)
              expect(users.filter((each) => each === user).length).toBeLessThanOrEqual(maxPerUser)
              for (let count = 0; count < ticks; count++) await tick()
              users.splice(users.indexOf(user), 1)
              busy.delete(worker)
              if (fails) throw new Error(`${index}`)
              return index
            }),
          ),
        )
        expect(results.map((each) => (each.status === 'fulfilled' ? each.value : `failed ${each.reason.message}`))).toEqual(
          jobs.map(({ fails }, index) => (fails ? `failed ${index}` : index)),
        )
      },
    ),
    { numRuns: 50 },
  )
})
