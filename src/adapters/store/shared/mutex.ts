/** Runs one piece of work at a time, in the order of the calls. A failed piece of work rejects its own promise only. */
type Mutex = <T>(work: () => T | Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work, work) // runs also when the work before it failed
    last = done
    return done
  }
}
