/** Calls `fire` after this time. Calling the returned function before then cancels the timer. Tests pass their own timer. */
export type StartTimer = (milliseconds: number, fire: () => void) => () => void

export const startSystemTimer: StartTimer = (milliseconds, fire) => {
  const timer = setTimeout(fire, milliseconds)
  return () => clearTimeout(timer)
}

export interface WaitOptions {
  readonly signal: AbortSignal
  readonly idleMs: number
  readonly startTimer: StartTimer
}

/** Why a wait ended without a value. */
export type Interruption = 'aborted' | 'stalled'

/**
 * Waits for the promise until `idleMs` have passed or the signal aborts. After such an interruption, the result or rejection of the promise
 * is ignored.
 */
export function withIdleTimeout<T>(
  promise: PromiseLike<T>,
  { signal, idleMs, startTimer }: WaitOptions,
): Promise<{ readonly value: T } | Interruption> {
  if (signal.aborted) {
    Promise.resolve(promise).catch(() => {}) // after an abort the promise often rejects, and an unhandled rejection would end the process
    return Promise.resolve('aborted')
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => end('aborted')
    const cancelTimer = startTimer(idleMs, () => end('stalled'))
    const cleanUp = () => {
      cancelTimer()
      signal.removeEventListener('abort', onAbort)
    }
    const end = (outcome: { readonly value: T } | Interruption) => {
      cleanUp()
      resolve(outcome)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(
      (value) => end({ value }),
      (error: unknown) => {
        cleanUp()
        reject(error)
      },
    )
  })
}
