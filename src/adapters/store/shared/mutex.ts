/** Runs one function at a time, in the order of the calls. A function that fails rejects its own promise only. */
type Mutex = <T>(work: () => T | Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work, work) // also after a failure
    last = done
    return done
  }
}
