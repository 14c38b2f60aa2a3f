/** Calls back once after a while, unless it is told not to. A test rings by hand. */
export type StartTimer = (milliseconds: number, ring: () => void) => () => void

export const startSystemTimer: StartTimer = (milliseconds, ring) => {
  const timer = setTimeout(ring, milliseconds)
  return () => clearTimeout(timer)
}

export interface WaitOptions {
  readonly signal: AbortSignal
  readonly stallMs: number
  readonly alarm: StartTimer
}

/** What ended the waiting, when it was not what was waited for. */
export type Interruption = 'aborted' | 'stalled'

/** The first of three: the promise, an end of patience, an abort. A promise that loses may fail as it likes; nobody hears of it. */
export function withIdleTimeout<T>(
  promise: PromiseLike<T>,
  { signal, stallMs, alarm }: WaitOptions,
): Promise<{ readonly value: T } | Interruption> {
  if (signal.aborted) {
    Promise.resolve(promise).catch(() => {}) // it was aborted with the same signal: its failure is no news
    return Promise.resolve('aborted')
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => end('aborted')
    const cancel = alarm(stallMs, () => end('stalled'))
    const end = (outcome: { readonly value: T } | Interruption) => {
      cancel()
      signal.removeEventListener('abort', onAbort)
      resolve(outcome)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(
      (value) => end({ value }),
      (error: unknown) => {
        cancel()
        signal.removeEventListener('abort', onAbort)
        reject(error)
      },
    )
  })
}
