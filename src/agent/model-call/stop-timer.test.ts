import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createStopTimer, startStopTimer, untilStopped } from './read-response.ts'

const never = new Promise<never>(() => {})

describe('the time that a model has to stop', () => {
  it('does not limit a model that was not told to stop', async () => {
    const timer = createStopTimer()
    expect(await untilStopped(timer, sleep(5))).toBeUndefined()
    expect(timer.expired).toBe(false)
  })

  it('ends the wait for a model that does not stop', async () => {
    const timer = createStopTimer()
    startStopTimer(timer, 1)
    expect(await untilStopped(timer, never)).toBeUndefined()
    expect(timer.expired).toBe(true)
  })

  it('does not hide the error of a model, and ignores one that comes later', async () => {
    const thrown = new Error('broken')
    expect(await untilStopped(createStopTimer(), Promise.reject(thrown))).toEqual({ thrown })
    const timer = createStopTimer()
    startStopTimer(timer, 0)
    expect(
      await untilStopped(
        timer,
        sleep(10).then(() => Promise.reject(thrown)),
      ),
    ).toBeUndefined()
    await sleep(15)
  })

  it('does not expire after the end of the call', async () => {
    const timer = createStopTimer()
    startStopTimer(timer, 5)
    await untilStopped(timer, Promise.resolve())
    startStopTimer(timer, 0)
    await sleep(10)
    expect(timer.expired).toBe(false)
  })
})
