/** One at a time, in the order of asking. Whoever finds nobody at work begins at once. */
export type Mutex = <T>(work: () => T | Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> | undefined // of whoever is at work, or waits

  function keepWaiting<T>(run: Promise<T>): Promise<T> {
    const over = run.then(ignore, ignore) // a failure is the caller's; the next in line does not inherit it
    last = over
    over.then(() => {
      if (last === over) last = undefined
    })
    return run
  }

  return (work) => {
    if (last !== undefined) return keepWaiting(last.then(work))
    try {
      const done = work()
      return done instanceof Promise ? keepWaiting(done) : Promise.resolve(done) // what is over when it returns keeps nobody waiting
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

const ignore = () => undefined
