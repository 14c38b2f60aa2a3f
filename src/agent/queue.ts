/** Things that wait for a reader. Ends after `close`, once everything was read; with an error, if there was one. */
export interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void
  close(error?: unknown): void
}

/** `onAbandoned` is told when a reader stops: nobody will read what comes after. */
export function createQueue<T>(onAbandoned: () => void = () => {}): Queue<T> {
  const waiting: T[] = []
  let wake: (() => void) | undefined
  let closed: { readonly error?: unknown } | undefined
  return {
    push(item) {
      waiting.push(item)
      wake?.()
    },
    close(error) {
      closed ??= error === undefined ? {} : { error }
      wake?.()
    },
    async *[Symbol.asyncIterator]() {
      try {
        for (let next = 0; ; ) {
          while (next < waiting.length) yield waiting[next++] as T
          waiting.length = 0
          next = 0
          if (closed && 'error' in closed) throw closed.error
          if (closed) return
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          wake = undefined
        }
      } finally {
        onAbandoned()
      }
    },
  }
}
