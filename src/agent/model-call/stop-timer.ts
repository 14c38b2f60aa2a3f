/** The time that a model has to stop. When it is up the model is abandoned: the call goes on without it. */
export interface StopTimer {
  /** The model was told to stop, and has `ms` to do so. */
  start(ms: number): void
  /** The model was abandoned. Its reader must ignore every later event. */
  readonly expired: boolean
  /** Waits until the events of the model are read, or the time is up. Returns the error of the reading, and never rejects. */
  waitFor(reading: Promise<void>): Promise<{ readonly thrown: unknown } | undefined>
}

export function createStopTimer(): StopTimer {
  const timeUp = Promise.withResolvers<void>()
  let timer: NodeJS.Timeout | undefined
  let finished = false
  const self = {
    expired: false,
    start(ms: number) {
      if (!finished) timer ??= setTimeout(expire, ms)
    },
    async waitFor(reading: Promise<void>) {
      try {
        await Promise.race([reading, timeUp.promise])
        return undefined
      } catch (thrown) {
        return { thrown }
      } finally {
        finished = true
        clearTimeout(timer)
      }
    },
  }
  function expire(): void {
    self.expired = true
    timeUp.resolve()
  }
  return self
}
