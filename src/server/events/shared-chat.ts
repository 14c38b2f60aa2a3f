import type { TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { createKnownSources, type KnownSources } from '../../core/view/known-sources.ts'
import type { EnvelopeBody } from './chat-events.ts'

/** What all chat streams of one conversation have in common. So an event is converted and written as JSON once, not once per stream. */
export interface SharedChat {
  readonly known: KnownSources
  /** The chat events of each event. Users and operators get different events, so they do not share. */
  readonly converted: WeakMap<TurnEvent, readonly ConvertedEvent[]>
}

/** A chat event without the fields that differ from stream to stream. `body` is the same object for every stream. */
export interface ConvertedEvent {
  readonly turnId: string | null
  readonly body: EnvelopeBody
}

export const createSharedChat = (): SharedChat => ({ known: createKnownSources([]), converted: new WeakMap() })

/** The shared part of each conversation that has chat streams. */
export interface SharedChats {
  /** Call `leave` when the stream ends. */
  join(conversationKey: string): { readonly chat: SharedChat; leave(): void }
  /**
   * The sources of a conversation up to the entry `lastSeq`. Streams that begin at the same time wait for one call of `load`, because it
   * reads the whole timeline.
   */
  sources(conversationKey: string, lastSeq: number, load: () => Promise<readonly SourceRow[]>): Promise<readonly SourceRow[]>
}

export function createSharedChats(): SharedChats {
  const chats = new Map<string, { readonly chat: SharedChat; streams: number }>()
  const loading = new Map<string, Promise<readonly SourceRow[]>>()
  return {
    sources(conversationKey, lastSeq, load) {
      const name = `${lastSeq} ${conversationKey}` // a call that began for an earlier entry may lack sources
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
