import type { MemoryConversation } from './conversation.ts'

/**
 * When the journals of idle conversations take more than `high` bytes, journals are packed until the rest takes at most `low` bytes. Those
 * that were idle for the longest time are packed first.
 */
interface IdleLimits {
  readonly low: number
  readonly high: number
}

/**
 * Packing the journal of a turn takes about a third of the time of the turn itself, without its model calls. Therefore small stores pack no
 * journals.
 */
const limits: IdleLimits = { low: 8 * 1024 * 1024, high: 10 * 1024 * 1024 }
/** At most this many journals are packed at once, so that other work does not wait long. */
const PACKED_AT_ONCE = 2

/** Packs the journals of conversations that were not used for the longest time. So a store in memory can have many conversations. */
export interface IdleJournals {
  /** Tells this object that the conversation was just used. The conversation that was used last is never packed. */
  rest(conversation: MemoryConversation): void
  forget(conversation: MemoryConversation): void
}

export function createIdleJournals({ low, high }: IdleLimits = limits): IdleJournals {
  // the bytes of the journal of each idle conversation. The first conversation has been idle for the longest time
  const idle = new Map<MemoryConversation, number>()
  let bytes = 0
  let isPacking = false

  function forget(conversation: MemoryConversation): void {
    bytes -= idle.get(conversation) ?? 0
    idle.delete(conversation)
  }

  return {
    rest(conversation) {
      forget(conversation)
      idle.set(conversation, conversation.journal.bytes)
      bytes += conversation.journal.bytes
      if (bytes > high) isPacking = true
      let packed = 0
      for (const oldest of idle.keys()) {
        if (bytes <= low || oldest === conversation) isPacking = false
        if (!isPacking || packed++ === PACKED_AT_ONCE) return
        forget(oldest)
        packConversation(oldest)
      }
    },
    forget,
  }
}

function packConversation(conversation: MemoryConversation): void {
  conversation.journal.pack()
  // The first versions of blocks can be dropped, because `firstVersionsOf` can compute them again, unless retention has removed entries
  // that contain them.
  if (conversation.hasRemovedHistory) return
  conversation.firstVersions.clear()
  conversation.indexedEntries = 0
}
