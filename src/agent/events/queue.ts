/**
 * Things that wait for a reader, or a reader that waits for things: then it is given the next one itself, with nothing in between.
 * Ends after `close`, once everything was read; with an error, if there was one. For one reader at a time; whoever reads after
 * another goes on where that one stopped.
 */
export interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void
  close(error?: unknown): void
}

type Result<T> = IteratorResult<T, undefined>
type Give<T> = (result: Result<T> | Promise<Result<T>>) => void

/** `onAbandoned` is told when a reader stops: nobody will read what comes after. */
export function createQueue<T>(onAbandoned: () => void = () => {}): Queue<T> {
  // One of the two is always empty.
  const items = createFifo<T>()
  const promises = createFifo<Give<T>>()
  let closed: { readonly error?: unknown } | undefined
  let left = false

  function read(): Promise<Result<T>> {
    if (left) return Promise.resolve(end)
    if (!items.isEmpty()) return Promise.resolve({ done: false, value: items.take() })
    if (!closed) return new Promise(promises.add)
    leave()
    return 'error' in closed ? Promise.reject(closed.error) : Promise.resolve(end)
  }

  function leave() {
    left = true
    onAbandoned()
    while (!promises.isEmpty()) promises.take()(end)
  }

  return {
    push(item) {
      if (promises.isEmpty()) items.add(item)
      else promises.take()({ done: false, value: item })
    },
    close(error) {
      closed ??= error === undefined ? {} : { error }
      if (!promises.isEmpty()) promises.take()(read())
    },
    [Symbol.asyncIterator]() {
      left = false
      return {
        next: read,
        async return() {
          if (!left) leave()
          return end
        },
      }
    },
  }
}

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** First come, first served. */
function createFifo<T>() {
  const all: T[] = []
  let next = 0
  return {
    isEmpty: () => next === all.length,
    add: (each: T) => void all.push(each),
    take(): T {
      if (all.length === 1) return all.pop() as T // mostly: and the list keeps its room
      const each = all[next++] as T
      if (next * 2 >= all.length) {
        all.splice(0, next) // what was taken is not kept, though somebody may never catch up
        next = 0
      }
      return each
    },
  }
}
