/**
 * `for await (const value of values()) if (!take(value)) break`, and then `end`, with what was thrown if that is why. Written out
 * because the statement makes functions for every value that it waits for, and a model says hundreds of them.
 */
export function forAwait<T>(
  values: () => AsyncIterable<T>,
  take: (value: T) => boolean,
  end: (broke?: { readonly thrown: unknown }) => void,
): void {
  let iterator: AsyncIterator<T> | undefined
  const broke = (thrown: unknown) => end({ thrown })
  const next = () => {
    try {
      iterator ??= iteratorOf(values())
      Promise.resolve(iterator.next()).then(taken, broke)
    } catch (thrown) {
      broke(thrown)
    }
  }
  const taken = (result: IteratorResult<T>) => {
    let value: T
    try {
      if (typeof result !== 'object') throw new TypeError(`a stream gave ${typeof result} in place of a result`)
      if (result.done) return end()
      value = result.value
    } catch (thrown) {
      return broke(thrown) // what gives no result is not told to leave: it may never come back from that
    }
    let more: boolean
    try {
      more = take(value)
    } catch (thrown) {
      const rethrow = () => broke(thrown)
      return void leave(iterator).then(rethrow, rethrow)
    }
    if (more) next()
    else leave(iterator).then(() => end(), broke)
  }
  next()
}

/** What has its values at hand is heard, too. */
const iteratorOf = <T>(values: AsyncIterable<T>): AsyncIterator<T> =>
  values[Symbol.asyncIterator] ? values[Symbol.asyncIterator]() : oneByOne(values as unknown as Iterable<T>)

async function* oneByOne<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

/** Whoever breaks off says so, and waits until it was heard. */
async function leave(iterator: AsyncIterator<unknown> | undefined): Promise<void> {
  await iterator?.return?.()
}
