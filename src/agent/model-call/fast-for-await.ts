/**
 * Fast path for `for await (const value of open()) if (!onValue(value)) break`. The statement allocates functions for every value that it
 * awaits, and a response has many chunks. Saves about 1 µs a round, and more while many conversations run at once.
 */
export function forAwait<T>(open: () => AsyncIterable<T>, onValue: (value: T) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const iterator = iteratorOf(open()) // an error of `open` rejects the promise
    const next = () => {
      try {
        Promise.resolve(iterator.next()).then(receive, reject)
      } catch (thrown) {
        reject(thrown)
      }
    }
    const receive = (result: IteratorResult<T>) => {
      let value: T
      try {
        if (typeof result !== 'object') throw new TypeError(`a stream returned ${typeof result} instead of a result`)
        if (result.done) return resolve()
        value = result.value
      } catch (thrown) {
        return reject(thrown) // the iterator is broken and is not closed, as the statement does not close it
      }
      let wantsMore: boolean
      try {
        wantsMore = onValue(value)
      } catch (thrown) {
        const rejectAnyway = () => reject(thrown)
        return void close(iterator).then(rejectAnyway, rejectAnyway)
      }
      if (wantsMore) next()
      else close(iterator).then(resolve, reject)
    }
    next()
  })
}

/** The statement accepts a synchronous iterable, too. */
const iteratorOf = <T>(values: AsyncIterable<T>): AsyncIterator<T> =>
  values[Symbol.asyncIterator] ? values[Symbol.asyncIterator]() : asyncValues(values as unknown as Iterable<T>)

async function* asyncValues<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

async function close(iterator: AsyncIterator<unknown>): Promise<void> {
  await iterator.return?.()
}
