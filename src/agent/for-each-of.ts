/**
 * `for await (const value of values()) if (!take(value)) break`, and then `end`, with what was thrown if that is why. Written out
 * because the statement makes functions for every value that it waits for, and a model says hundreds of them.
 */
export function forEachOf<T>(
  values: () => AsyncIterable<T>,
  take: (value: T) => boolean,
  end: (broke?: { readonly thrown: unknown }) => void,
): void {
  let iterator: AsyncIterator<T> | undefined
  const broke = (thrown: unknown) => end({ thrown })
  const next = () => {
    try {
      iterator ??= values()[Symbol.asyncIterator]()
      Promise.resolve(iterator.next()).then(taken, broke)
    } catch (thrown) {
      broke(thrown)
    }
  }
  const taken = (result: IteratorResult<T>) => {
    let more: boolean
    try {
      if (result.done) return end()
      more = take(result.value)
    } catch (thrown) {
      const rethrow = () => broke(thrown)
      return void leave(iterator).then(rethrow, rethrow)
    }
    if (more) next()
    else leave(iterator).then(() => end(), broke)
  }
  next()
}

/** Whoever breaks off says so, and waits until it was heard. */
async function leave(iterator: AsyncIterator<unknown> | undefined): Promise<void> {
  await iterator?.return?.()
}
