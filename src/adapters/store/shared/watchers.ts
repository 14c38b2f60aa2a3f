import type { WatchListener } from '../../../ports/store.ts'

interface Watched {
  /** The `seq` of the last entry at the last check. Undefined if the conversation did not exist then. */
  told: number | undefined
  readonly listeners: Set<WatchListener>
}

/** The listeners of `store.watch`. `lastSeqOf` returns the `seq` of the last entry, or undefined for a missing conversation. */
export function createWatchers(lastSeqOf: (conversationId: string) => number | undefined) {
  const watched = new Map<string, Watched>()
  return {
    /** The watched conversations, by id. */
    watched: watched as ReadonlyMap<string, unknown>,

    add(conversationId: string, listener: WatchListener): () => void {
      const known = watched.get(conversationId) ?? { told: lastSeqOf(conversationId), listeners: new Set() }
      watched.set(conversationId, known)
      known.listeners.add(listener)
      return () => {
        known.listeners.delete(listener)
        if (known.listeners.size === 0 && watched.get(conversationId) === known) watched.delete(conversationId)
      }
    },

    /** Tells the listeners that this entry was appended, unless they were already told about it or about a later entry. */
    tell(conversationId: string, lastSeq: number): void {
      const known = watched.get(conversationId)
      if (known === undefined || (known.told !== undefined && known.told >= lastSeq)) return
      known.told = lastSeq
      for (const { onWritten } of known.listeners) onWritten(lastSeq)
    },

    /** For each watched conversation, notifies the listeners if it has entries of which they were not told. */
    check(): void {
      for (const [conversationId, known] of watched) {
        const lastSeq = lastSeqOf(conversationId)
        const before = known.told
        if (lastSeq === before) continue
        known.told = lastSeq
        // if there are fewer entries than before, the conversation was deleted and created again since the last check
        const wasReplaced = before !== undefined && lastSeq !== undefined && lastSeq < before
        for (const { onWritten } of known.listeners) {
          if (wasReplaced) onWritten(undefined)
          onWritten(lastSeq)
        }
      }
    },

    fail(error: unknown): void {
      for (const { listeners } of watched.values()) for (const { onError } of listeners) onError(error)
    },

    clear: () => watched.clear(),
  }
}
