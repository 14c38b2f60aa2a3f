import type { TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { createKnownSources, type KnownSources } from '../../core/view/known-sources.ts'
import type { EnvelopeBody } from './chat-events.ts'

/**
 * The data that all chat streams of one conversation share. Because of it, an event is converted and written as JSON only once for all
 * streams.
 */
export interface SharedChat {
  readonly known: KnownSources
  /**
   * The chat events that were made from each event. An event that was filtered for users is not the same object as the event for operators,
   * so it has an entry of its own in this map.
   */
  readonly converted: WeakMap<TurnEvent, readonly ConvertedEvent[]>
}

/** A chat event without the fields that differ from stream to stream. `body` is the same object for every stream. */
export interface ConvertedEvent {
  readonly turnId: string | null
  readonly body: EnvelopeBody
}

export const createSharedChat = (): SharedChat => ({ known: createKnownSources([]), converted: new WeakMap() })

/** Contains a `SharedChat` for each conversation that has at least one open event stream. */
export interface SharedChats {
  /** Returns the `SharedChat` of the conversation. Call `leave` when the stream ends. The last `leave` removes the `SharedChat`. */
  join(conversationKey: string): { readonly chat: SharedChat; leave(): void }
  /**
   * The sources of a conversation up to the entry `lastSeq`. `load` reads the whole timeline. So if several streams begin at the same time,
   * `load` is called once and all of them wait for its result.
   */
  sources(conversationKey: string, lastSeq: number, load: () => Promise<readonly SourceRow[]>): Promise<readonly SourceRow[]>
}

export function createSharedChats(): SharedChats {
  const chats = new Map<string, { readonly chat: SharedChat; streams: number }>()
  const loading = new Map<string, Promise<readonly SourceRow[]>>()
  return {
    sources(conversationKey, lastSeq, load) {
      // `lastSeq` is in the name, because the result of a `load` that began before this entry may lack sources
      const name = `${lastSeq} ${conversationKey}`
      const started = loading.get(name) ?? load().finally(() => loading.delete(name))
      loading.set(name, started)
      return started
    },
    join(conversationKey) {
      const entry = chats.get(conversationKey) ?? { chat: createSharedChat(), streams: 0 }
      chats.set(conversationKey, entry)
      entry.streams++
      let left = false
      return {
        chat: entry.chat,
        leave() {
          if (!left && --entry.streams === 0) chats.delete(conversationKey)
          left = true
        },
      }
    },
  }
}
