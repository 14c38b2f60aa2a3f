import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createDueTimes } from './due-times.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())
const clock = { now: () => new Date().toISOString() }

it('resumes each conversation once, not before its time and within a second of it, in whichever order they were added', () => {
  const resumed: (readonly [number, string])[] = []
  const due = createDueTimes(clock, (id) => resumed.push([Date.now(), id]))
  due.add('late', 90_000)
  due.add('soon', 1_200)
  due.add('soon too', 1_900)
  due.add('past', -5)
  vi.advanceTimersByTime(60_000)
  due.add('between', 70_000)
  vi.advanceTimersByTime(60_000)
  expect(resumed).toEqual([
    [0, 'past'],
    [2_000, 'soon'],
    [2_000, 'soon too'],
    [70_000, 'between'],
    [90_000, 'late'],
  ])
  expect(vi.getTimerCount()).toBe(0)
})

it('waits longer than one timer can, has one timer for all, and resumes nothing after it was closed', () => {
  const resumed: string[] = []
  const due = createDueTimes(clock, (id) => resumed.push(id))
  for (let index = 0; index < 1_000; index++) due.add(`c${index}`, 3_000_000_000 + index * 1_000)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(3_000_010_000)
  expect(resumed).toEqual(Array.from({ length: 11 }, (_, index) => `c${index}`))
  due.close()
  vi.advanceTimersByTime(1e9)
  expect(resumed).toHaveLength(11)
})
