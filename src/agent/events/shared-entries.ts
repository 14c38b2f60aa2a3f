import { isDeepStrictEqual } from 'node:util'
import type { EntryEvent } from '../../core/event.ts'
import { textSize } from '../../core/json.ts'
import type { Entry } from '../../ports/store.ts'

/** Only entries with at least this many characters are shared. To share a smaller entry would cost more than to copy it. */
const LARGE = 16 * 1024

/**
 * Returns a function that makes events of entries that were read from the journal. The store gives each reader its own copy of an entry. If
 * the event of the same large entry is still in memory for another reader, the function returns that event, and the new copy is dropped. In
 * this way, a long text is in memory only once, even if many slow readers use it.
 */
export function createSharedEntries(): (conversationId: string, entry: Entry) => EntryEvent {
  const held = new Map<string, WeakRef<EntryEvent>>()
  const released = new FinalizationRegistry<string>((key) => {
    if (held.get(key)?.deref() === undefined) held.delete(key)
  })
  return (conversationId, { seq, change }) => {
    const event: EntryEvent = { type: 'entry', seq, change }
    if (textSize(change, LARGE) < LARGE) return event
    const key = `${seq} ${conversationId}`
    const known = held.get(key)?.deref()
    // The contents differ if the conversation was deleted and another one was created with the same id.
    if (known && isDeepStrictEqual(known.change, change)) return known
    held.set(key, new WeakRef(event))
    released.register(event, key)
    return event
  }
}
