/** Many may share, one alone is alone; in the order of their coming. A write must not land in a folder that is just being replaced. */
export interface FolderLock {
  shared<T>(work: () => Promise<T>): Promise<T>
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

export function createFolderLock(): FolderLock {
  let exclusive: Promise<unknown> = Promise.resolve()
  const sharers = new Set<Promise<unknown>>()
  return {
    shared(work) {
      const done = exclusive.then(work)
      const settled: Promise<unknown> = done.catch(() => {}).finally(() => sharers.delete(settled)) // whoever asked hears of its failure
      sharers.add(settled)
      return done
    },
    exclusive(work) {
      const before = Promise.all([exclusive, ...sharers])
      const done = before.then(work)
      exclusive = done.catch(() => {})
      return done
    },
  }
}
