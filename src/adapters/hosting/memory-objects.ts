import { checkKey, isInTree, type ObjectStore, uriMapping } from './objects.ts'

/** For tests, and for agents that need no tomorrow. */
export function createMemoryObjects(): ObjectStore {
  const held = new Map<string, Uint8Array>()
  return {
    ...uriMapping('memory:///'),
    async put(key, bytes) {
      checkKey(key)
      held.set(key, Uint8Array.from(bytes))
    },
    async get(key) {
      checkKey(key)
      const bytes = held.get(key)
      return bytes && Uint8Array.from(bytes)
    },
    async exists(key) {
      checkKey(key)
      return held.has(key)
    },
    async *list(tree) {
      checkKey(tree)
      yield* [...held.keys()].filter(isInTree(tree)).sort()
    },
    async delete(key) {
      checkKey(key)
      held.delete(key)
    },
    async deleteTree(tree) {
      checkKey(tree)
      for (const key of [...held.keys()].filter(isInTree(tree))) held.delete(key)
    },
  }
}
