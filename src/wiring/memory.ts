import type { Settings } from '../config.ts'
import type { Clock } from '../ports/clock.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { MemorySearch } from '../tools/react/memsearch.ts'
import { createMemorySearch } from '../tools/recall/memory-search.ts'

/** What `react.memsearch` searches, as an option of the built-in tools. */
interface MemoryOption {
  readonly memory?: MemorySearch | false
}

type MemorySettings = Partial<Pick<Settings, 'memorySearch'>>

/** The search in the memory index of a store. Empty if the store has no index, or if the settings turn the search off. */
export function memoryOption(
  { memory }: Pick<ConversationStore, 'memory'>,
  clock: Pick<Clock, 'now'>,
  { memorySearch = 'on' }: MemorySettings = {},
): MemoryOption {
  return memory && memorySearch === 'on' ? { memory: createMemorySearch(memory, clock) } : {}
}

/** The option for a replay. A replay runs no tool, but the system text lists the tool. */
export const replayedMemory = ({ memorySearch = 'on' }: MemorySettings = {}): MemoryOption =>
  memorySearch === 'on' ? { memory: { search: () => Promise.reject(new Error('a replay does not search')) } } : {}

/**
 * Indexes conversations that an older version of Daybook has stored. It runs in the background, and returns a function that ends it. A search
 * meanwhile indexes the conversations that it needs.
 */
export function startCatchUp({ memory }: Pick<ConversationStore, 'memory'>, onError: (error: unknown) => void): () => Promise<void> {
  const ending = new AbortController()
  const work = memory?.catchUp({ signal: ending.signal }).catch((error: unknown) => {
    if (!ending.signal.aborted) onError(error)
  })
  return async () => {
    ending.abort()
    await work
  }
}
