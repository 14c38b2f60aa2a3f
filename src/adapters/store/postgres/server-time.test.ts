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

it('stays right while the answers of the server take long, wherever the time is spent', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const start = Date.parse('2026-01-01T00:00:00.000Z')
  const wait = { before: 1, after: 1 }
  const all = async <Row extends object>() => {
    vi.advanceTimersByTime(wait.before) // the question waits for a connection
    const now = start + performance.now()
    vi.advanceTimersByTime(wait.after) // the answer waits for the processor
    return [{ now }] as unknown as readonly Row[]
  }
  const now = await readServerTime({ all })
  for (const busy of [
    { before: 300, after: 1 },
    { before: 1, after: 300 },
    { before: 2_000, after: 50 },
  ]) {
    Object.assign(wait, busy)
    vi.advanceTimersByTime(6_000)
    now() // asks the server
    await new Promise((resolve) => setImmediate(resolve))
    expect(Math.abs(Date.parse(now()) - start - performance.now())).toBeLessThanOrEqual(2)
  }
})

it('is soon right if the first answer took long, for example because the server was restarted', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const start = Date.parse('2026-01-01T00:00:00.000Z')
  let wait = 20_000
  const all = async <Row extends object>() => {
    vi.advanceTimersByTime(wait)
    return [{ now: start + performance.now() }] as unknown as readonly Row[]
  }
  const now = await readServerTime({ all })
  wait = 0
  vi.advanceTimersByTime(300)
  now() // asks the server
  await new Promise((resolve) => setImmediate(resolve))
  expect(Date.parse(now())).toBe(start + performance.now())
})
