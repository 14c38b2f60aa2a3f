import type { EntryEvent, LaneEvent, StatusEvent, TurnEvent } from '../core/event.ts'

/** An event and the latest entry when it happened: a live event says nothing new to whoever has read a later entry. */
export interface Told<Event extends TurnEvent = TurnEvent> {
  readonly event: Event
  readonly seq: number
}

/** Tells whoever listens to a conversation, in order. A listener that throws is its own problem. Holds nothing about the idle. */
export interface Hub {
  /** A conversation is being worked on, from this entry on. */
  open(conversationId: string, seq: number): void
  close(conversationId: string): void
  publish(conversationId: string, event: TurnEvent): void
  /** Returns how to stop listening. To entries only: then nothing is said live for this listener's sake. */
  subscribe(conversationId: string, listener: Listener, to?: keyof Listeners): () => void
  /** The conversation is gone: nothing more can happen in it. */
  dismiss(conversationId: string): void
  /** Calls back at that moment. Returns how to stop waiting for it. */
  whenDismissed(conversationId: string, leave: () => void): () => void
  audience(conversationId: string): Audience
  /** What has been said live and is not entered yet: whoever joins in the middle of an answer begins with it. */
  inFlight(conversationId: string): readonly Told[]
  /** Conversations that something is held for. */
  readonly size: number
}

/** Who watches a conversation live. What nobody watches need not be said until somebody does. */
export interface Audience {
  isPresent(): boolean
  /** Before anybody begins to watch, `catchUp` says what was left unsaid. The latest counts, until what it speaks of is entered. */
  whenJoined(catchUp: () => void): void
}

/** Where a conversation is worked on or listened to. */
interface Hall {
  readonly conversationId: string
  /** Undefined while nobody works on it. */
  stage: Stage | undefined
  readonly listeners: Listeners
}

interface Stage {
  seq: number
  readonly live: Told<LaneEvent | StatusEvent>[]
  catchUp: (() => void) | undefined
}

type Listener = (told: Told) => void

/** By what they listen to. */
interface Listeners {
  readonly everything: Set<Listener>
  readonly entries: Set<Listener>
}

export function createHub(onError: (error: unknown) => void): Hub {
  const halls = new Map<string, Hall>()
  const leaving = new Map<string, Set<() => void>>()
  let latest: Hall | undefined // much is said in one hall before anybody speaks in another

  function find(conversationId: string): Hall | undefined {
    if (latest?.conversationId !== conversationId) latest = halls.get(conversationId)
    return latest
  }

  function enter(conversationId: string): Hall {
    const known = find(conversationId)
    if (known) return known
    const hall: Hall = { conversationId, stage: undefined, listeners: { everything: new Set(), entries: new Set() } }
    halls.set(conversationId, hall)
    return hall
  }

  function lockIfEmpty({ conversationId, stage, listeners }: Hall): void {
    if (stage || listeners.everything.size > 0 || listeners.entries.size > 0) return
    halls.delete(conversationId)
    latest = undefined
  }

  /** Where the event stands; what it makes obsolete is no longer in flight. */
  function place(stage: Stage | undefined, event: TurnEvent): Told {
    if (event.type === 'entry') {
      if (stage) stage.seq = event.seq
      if (stage && isHeard(event)) {
        stage.live.length = 0
        stage.catchUp = undefined
      }
      return { event, seq: event.seq }
    }
    const told = { event, seq: stage?.seq ?? 0 }
    stage?.live.push(told)
    return told
  }

  function tell(all: ReadonlySet<Listener>, told: Told) {
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
      enter(conversationId).stage = { seq, live: [], catchUp: undefined }
    },
    close(conversationId) {
      const hall = find(conversationId)
      if (!hall) return
      hall.stage = undefined
      lockIfEmpty(hall)
    },
    publish(conversationId, event) {
      const hall = find(conversationId)
      if (!hall) return
      const told = place(hall.stage, event)
      const { everything, entries } = hall.listeners
      if (everything.size > 0) tell(everything, told)
      if (event.type === 'entry' && entries.size > 0) tell(entries, told)
    },
    subscribe(conversationId, listener, to = 'everything') {
      const hall = enter(conversationId)
      if (to === 'everything') hall.stage?.catchUp?.()
      hall.listeners[to].add(listener)
      return () => {
        if (hall.listeners[to].delete(listener)) lockIfEmpty(hall)
      }
    },
    dismiss(conversationId) {
      for (const leave of leaving.get(conversationId) ?? []) leave()
    },
    whenDismissed(conversationId, leave) {
      const all = leaving.get(conversationId) ?? new Set()
      leaving.set(conversationId, all.add(leave))
      return () => {
        all.delete(leave)
        if (all.size === 0 && leaving.get(conversationId) === all) leaving.delete(conversationId)
      }
    },
    audience: (conversationId) => ({
      isPresent: () => (find(conversationId)?.listeners.everything.size ?? 0) > 0,
      whenJoined(catchUp) {
        const stage = find(conversationId)?.stage
        if (stage) stage.catchUp = catchUp
      },
    }),
    inFlight(conversationId) {
      const stage = find(conversationId)?.stage
      stage?.catchUp?.()
      return [...(stage?.live ?? [])]
    },
    get size() {
      return halls.size
    },
  }
}

/** A response that is entered: what its lanes showed can now be read in the journal. */
export const isHeard = ({ change }: Pick<EntryEvent, 'change'>): boolean => change.type === 'response.received' && change.role === undefined
