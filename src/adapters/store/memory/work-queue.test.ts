import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createWorkQueue } from './work-queue.ts'

it('finds the conversation of each tenant that is free first, whatever changes', () => {
  const step = fc.record({
    id: fc.constantFrom('a/p/u/1', 'a/p/u/2', 'a/p/u/3', 'b/p/u/1', 'b/p/u/2'),
    at: fc.option(fc.nat({ max: 9 }).map(String), { nil: undefined }),
  })
  let compared = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const times = new Map<string, string>()
      const queue = createWorkQueue((id) => times.get(id))
      for (const { id, at } of steps) {
        const before = times.get(id)
        if (at === undefined) times.delete(id)
        else times.set(id, at)
        if (at !== undefined && (before === undefined || at < before)) queue.note(id)
        for (const tenant of ['a', 'b']) {
          const expected = [...times].filter(([other]) => other.startsWith(tenant)).map(([, time]) => time)
          expect(queue.first(tenant)?.at).toBe(expected.sort()[0])
          compared += expected.length
        }
      }
    }),
  )
  expect(compared).toBeGreaterThan(1_000)
})
