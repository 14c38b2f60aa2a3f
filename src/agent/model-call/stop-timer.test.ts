import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createStopTimer } from './stop-timer.ts'

const never = new Promise<never>(() => {})

describe('the time that a model has to stop', () => {
  it('does not limit a model that was not told to stop', async () => {
    const timer = createStopTimer()
    expect(await timer.waitFor(sleep(5))).toBeUndefined()
    expect(timer.expired).toBe(false)
  })

  it('ends the wait for a model that does not stop', async () => {
    const timer = createStopTimer()
    timer.start(1)
    expect(await timer.waitFor(never)).toBeUndefined()
    expect(timer.expired).toBe(true)
  })

  it('does not hide the error of a model, and ignores one that comes later', async () => {
    const thrown = new Error('broken')
    expect(await createStopTimer().waitFor(Promise.reject(thrown))).toEqual({ thrown })
    const timer = createStopTimer()
    timer.start(0)
    expect(await timer.waitFor(sleep(10).then(() => Promise.reject(thrown)))).toBeUndefined()
    await sleep(15)
  })

  it('does not expire after the end of the call', async () => {
    const timer = createStopTimer()
    timer.start(5)
    await timer.waitFor(Promise.resolve())
    timer.start(0)
    await sleep(10)
    expect(timer.expired).toBe(false)
  })
})
