import { checkKey, isInTree, type ObjectStore, uriMapping } from './objects.ts'

/** An object store in memory, for tests and for agents whose files need not outlive the process. */
export function createMemoryObjects(): ObjectStore {
  const contents = new Map<string, Uint8Array>()
  return {
    ...uriMapping('memory:///'),
    async put(key, bytes) {
      checkKey(key)
      contents.set(key, Uint8Array.from(bytes))
    },
    async get(key, range) {
      checkKey(key)
      return contents.get(key)?.slice(range?.start, range?.end)
    },
    async exists(key) {
      checkKey(key)
      return contents.has(key)
    },
    async *list(tree) {
      checkKey(tree)
      yield* [...contents.keys()].filter(isInTree(tree)).sort()
    },
    async delete(key) {
      checkKey(key)
      contents.delete(key)
    },
    async deleteTree(tree) {
      checkKey(tree)
      for (const key of [...contents.keys()].filter(isInTree(tree))) contents.delete(key)
    },
  }
}
