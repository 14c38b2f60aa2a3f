/** Runs one function at a time, in the order of the calls. If a function fails, only the promise of its own call rejects. */
type Mutex = <T>(work: () => T | Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work, work) // `work` also runs if the function before it failed
    last = done
    return done
  }
}
