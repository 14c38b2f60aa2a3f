import { isDeepStrictEqual } from 'node:util'
import type { EntryEvent } from '../../core/event.ts'
import { textSize } from '../../core/json.ts'
import type { Entry } from '../../ports/store.ts'

/** Smaller entries are not shared: finding them would cost more than a copy. */
const LARGE = 16 * 1024

/**
 * Returns a function that makes events of entries that were read from the journal. Each reader of a conversation gets a copy of its own
 * from the store. If another reader still holds the event of the same large entry, that event is returned and the copy is dropped. So many
 * slow readers of a long text hold it once.
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
    // the contents may differ, if the conversation was deleted and created again
    if (known && isDeepStrictEqual(known.change, change)) return known
    held.set(key, new WeakRef(event))
    released.register(event, key)
    return event
  }
}
