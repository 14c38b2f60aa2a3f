/** One at a time, in the order of asking. */
export type Mutex = <T>(work: () => T | Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const run = last.then(work)
    last = run.then(nothing, nothing) // a failure is the caller's; the next in line does not inherit it
    return run
  }
}

const nothing = () => undefined
