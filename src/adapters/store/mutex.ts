/** One at a time, in the order of asking. Whoever finds nobody at work begins at once. */
export type Mutex = <T>(work: () => T | Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> | undefined // of whoever is at work, or waits
  return (work) => {
    const run = last === undefined ? begin(work) : last.then(work)
    if (run instanceof Promise) {
      const over = run.then(nothing, nothing) // a failure is the caller's; the next in line does not inherit it
      last = over
      over.then(() => {
        if (last === over) last = undefined
      })
      return run
    }
    return 'error' in run ? Promise.reject(run.error) : Promise.resolve(run.value)
  }
}

/** Work that is over when it returns keeps nobody waiting. */
function begin<T>(work: () => T | Promise<T>): Promise<T> | { readonly value: T } | { readonly error: unknown } {
  try {
    const value = work()
    return value instanceof Promise ? value : { value }
  } catch (error) {
    return { error }
  }
}

const nothing = () => undefined
