/**
 * An unbounded queue between a producer and a reader. Only one reader may iterate at a time. After `close`, the reader still gets the
 * remaining items. Then the iteration ends. If `close` was called with an error, the iteration throws this error. A new reader continues
 * where the previous reader stopped.
 */
interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void
  close(error?: unknown): void
}

type Result<T> = IteratorResult<T, undefined>
type Resolve<T> = (result: Result<T> | Promise<Result<T>>) => void

/** `onAbandoned` is called once per reader: when it has read the last item of a closed queue, or when it stops earlier. */
export function createQueue<T>(onAbandoned: () => void = () => {}): Queue<T> {
  // Either items wait for a reader, or readers wait for items. Therefore at least one of these two lists is always empty.
  const items = createFifo<T>()
  const readers = createFifo<Resolve<T>>()
  let closed: { readonly error?: unknown } | undefined
  let stopped = false

  function read(): Promise<Result<T>> {
    if (stopped) return Promise.resolve(end)
    if (!items.isEmpty()) return Promise.resolve({ done: false, value: items.take() })
    if (!closed) return new Promise(readers.add)
    stop()
    return 'error' in closed ? Promise.reject(closed.error) : Promise.resolve(end)
  }

  function stop() {
    stopped = true
    onAbandoned()
    while (!readers.isEmpty()) readers.take()(end)
  }

  return {
    push(item) {
      if (readers.isEmpty()) items.add(item)
      else readers.take()({ done: false, value: item })
    },
    close(error) {
      closed ??= error === undefined ? {} : { error }
      if (!readers.isEmpty()) readers.take()(read())
    },
    [Symbol.asyncIterator]() {
      stopped = false
      return {
        next: read,
        async return() {
          if (!stopped) stop()
          return end
        },
      }
    },
  }
}

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * A first-in, first-out list. It is a linked list, because `Array.shift` would move all items of a long array for each item that is taken.
 */
function createFifo<T>() {
  let first: Link<T> | undefined
  let last: Link<T> | undefined
  return {
    isEmpty: () => first === undefined,
    add(item: T) {
      const link = { item, next: undefined }
      if (last) last.next = link
      else first = link
      last = link
    },
    take(): T {
      const { item, next } = first as Link<T>
      first = next
      if (!next) last = undefined
      return item
    },
  }
}

interface Link<T> {
  readonly item: T
  next: Link<T> | undefined
}
