import type { MemoryConversation } from './conversation.ts'

/** When the journals of idle conversations take more than `high` bytes, the oldest are packed until they take `low` bytes. */
interface IdleLimits {
  readonly low: number
  readonly high: number
}

/** Packing the journal of a turn takes about as long as the turn itself, without its model calls. So small stores do not pack. */
const limits: IdleLimits = { low: 32 * 1024 * 1024, high: 64 * 1024 * 1024 }
/** At most this many journals are packed at once, so that other work does not wait long. */
const PACKED_AT_ONCE = 2

/** Packs the journals of conversations that were not used for the longest time. So a store in memory can have many conversations. */
export interface IdleJournals {
  /** Says that the conversation was just used. The conversation that was used last is never packed. */
  rest(conversation: MemoryConversation): void
  forget(conversation: MemoryConversation): void
}

export function createIdleJournals({ low, high }: IdleLimits = limits): IdleJournals {
  // the bytes of the journal of each idle conversation; the first one has been idle for the longest time
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
  // `firstVersionsOf` can compute the first versions of blocks again, unless retention has removed entries that contain them.
  if (conversation.hasRemovedHistory) return
  conversation.firstVersions.clear()
  conversation.indexedEntries = 0
}
