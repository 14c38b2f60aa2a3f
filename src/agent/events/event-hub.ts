import type { EntryEvent, LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'

/** An event and the latest entry when it happened: a live event says nothing new to whoever has read a later entry. */
export interface PublishedEvent<Event extends TurnEvent = TurnEvent> {
  readonly event: Event
  readonly seq: number
}

/** Tells whoever listens to a conversation, in order. A listener that throws is its own problem. Holds nothing about the idle. */
export interface EventHub {
  /** A conversation is being worked on, from this entry on. */
  open(conversationId: string, seq: number): void
  close(conversationId: string): void
  publish(conversationId: string, event: TurnEvent): void
  /** Returns how to stop listening. To entries only: then nothing is said live for this listener's sake. */
  subscribe(conversationId: string, listener: Listener, to?: keyof Listeners): () => void
  /** The conversation is gone: nothing more can happen in it. */
  announceDeleted(conversationId: string): void
  /** Calls back at that moment. Returns how to stop waiting for it. */
  onDeleted(conversationId: string, leave: () => void): () => void
  watchers(conversationId: string): Watchers
  /** What has been said live and is not entered yet: whoever joins in the middle of an answer begins with it. */
  inFlight(conversationId: string): readonly PublishedEvent[]
  /** Conversations that something is held for. */
  readonly size: number
}

/** Who watches a conversation live. What nobody watches need not be said until somebody does. */
export interface Watchers {
  any(): boolean
  /** Before anybody begins to watch, `catchUp` says what was left unsaid. The latest counts, until what it speaks of is entered. */
  onJoin(catchUp: () => void): void
}

/** Where a conversation is worked on or listened to. */
interface ConversationFeed {
  readonly conversationId: string
  /** Undefined while nobody works on it. */
  live: LiveState | undefined
  readonly listeners: Listeners
}

interface LiveState {
  seq: number
  readonly inFlight: PublishedEvent<LaneEvent | StatusEvent>[]
  catchUp: (() => void) | undefined
}

type Listener = (told: PublishedEvent) => void

/** By what they listen to. */
interface Listeners {
  readonly everything: Set<Listener>
  readonly entries: Set<Listener>
}

export function createEventHub(onError: (error: unknown) => void): EventHub {
  const halls = new Map<string, ConversationFeed>()
  const leaving = new Map<string, Set<() => void>>()
  let latest: ConversationFeed | undefined // much is said in one hall before anybody speaks in another

  function find(conversationId: string): ConversationFeed | undefined {
    if (latest?.conversationId !== conversationId) latest = halls.get(conversationId)
    return latest
  }

  function enter(conversationId: string): ConversationFeed {
    const known = find(conversationId)
    if (known) return known
    const hall: ConversationFeed = { conversationId, live: undefined, listeners: { everything: new Set(), entries: new Set() } }
    halls.set(conversationId, hall)
    return hall
  }

  function lockIfEmpty({ conversationId, live: stage, listeners }: ConversationFeed): void {
    if (stage || listeners.everything.size > 0 || listeners.entries.size > 0) return
    halls.delete(conversationId)
    latest = undefined
  }

  /** Where the event stands; what it makes obsolete is no longer in flight. */
  function place(stage: LiveState | undefined, event: TurnEvent): PublishedEvent {
    if (event.type === 'entry') {
      if (stage) stage.seq = event.seq
      if (stage && isDecisionEntry(event)) {
        stage.inFlight.length = 0
        stage.catchUp = undefined
      }
      return { event, seq: event.seq }
    }
    const told = { event, seq: stage?.seq ?? 0 }
    stage?.inFlight.push(told)
    return told
  }

  function tell(all: ReadonlySet<Listener>, told: PublishedEvent) {
    for (const listener of all) {
      try {
        listener(told)
      } catch (error) {
        onError(error)
      }
    }
  }

  return {
    open(conversationId, seq) {
      enter(conversationId).live = { seq, inFlight: [], catchUp: undefined }
    },
    close(conversationId) {
      const hall = find(conversationId)
      if (!hall) return
      hall.live = undefined
      lockIfEmpty(hall)
    },
    publish(conversationId, event) {
      const hall = find(conversationId)
      if (!hall) return
      const told = place(hall.live, event)
      const { everything, entries } = hall.listeners
      if (everything.size > 0) tell(everything, told)
      if (event.type === 'entry' && entries.size > 0) tell(entries, told)
    },
    subscribe(conversationId, listener, to = 'everything') {
      const hall = enter(conversationId)
      if (to === 'everything') hall.live?.catchUp?.()
      hall.listeners[to].add(listener)
      return () => {
        if (hall.listeners[to].delete(listener)) lockIfEmpty(hall)
      }
    },
    announceDeleted(conversationId) {
      for (const leave of leaving.get(conversationId) ?? []) leave()
    },
    onDeleted(conversationId, leave) {
      const all = leaving.get(conversationId) ?? new Set()
      leaving.set(conversationId, all.add(leave))
      return () => {
        all.delete(leave)
        if (all.size === 0 && leaving.get(conversationId) === all) leaving.delete(conversationId)
      }
    },
    watchers: (conversationId) => ({
      any: () => (find(conversationId)?.listeners.everything.size ?? 0) > 0,
      onJoin(catchUp) {
        const stage = find(conversationId)?.live
        if (stage) stage.catchUp = catchUp
      },
    }),
    inFlight(conversationId) {
      const stage = find(conversationId)?.live
      stage?.catchUp?.()
      return [...(stage?.inFlight ?? [])]
    },
    get size() {
      return halls.size
    },
  }
}

/** A response that is entered: what its lanes showed can now be read in the journal. */
export const isDecisionEntry = ({ change }: Pick<EntryEvent, 'change'>): boolean =>
  change.type === 'response.received' && change.role === undefined
