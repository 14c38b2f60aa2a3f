import { afterEach, expect, it, vi } from 'vitest'
import { readServerTime } from './server-time.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('follows the clock of the server within seconds after it was set, because leases of all processes are measured by it', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let difference = 0
  let asked = 0
  const start = Date.parse('2026-01-01T00:00:00.000Z')
  const all = async <Row extends object>() => {
    asked++
    return [{ now: start + performance.now() + difference }] as unknown as readonly Row[]
  }
  const now = await readServerTime({ all })
  const heartbeat = async () => {
    vi.advanceTimersByTime(10_000)
    now()
    await new Promise((resolve) => setImmediate(resolve)) // the answer of the server
    return Date.parse(now()) - start - performance.now()
  }
  for (const jump of [0, 3_600_000, -7_200_000]) {
    difference += jump
    await heartbeat()
    expect(await heartbeat()).toBe(difference)
  }
  expect(asked).toBeLessThan(12)
})
