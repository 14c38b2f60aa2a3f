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
  /** Returns how to stop listening. */
  subscribe(conversationId: string, listener: (told: Told) => void): () => void
  /** What has been said live and is not entered yet: whoever joins in the middle of an answer begins with it. */
  inFlight(conversationId: string): readonly Told[]
  /** Conversations that something is held for. */
  readonly size: number
}

interface Stage {
  seq: number
  readonly live: Told<LaneEvent | StatusEvent>[]
}

export function createHub(onError: (error: unknown) => void): Hub {
  const stages = new Map<string, Stage>()
  const listeners = new Map<string, Set<(told: Told) => void>>()

  /** Where the event stands; what it makes obsolete is no longer in flight. */
  function place(conversationId: string, event: TurnEvent): Told {
    const stage = stages.get(conversationId)
    if (event.type === 'entry') {
      if (stage) stage.seq = event.seq
      if (isHeard(event)) stage?.live.splice(0)
      return { event, seq: event.seq }
    }
    const told = { event, seq: stage?.seq ?? 0 }
    stage?.live.push(told)
    return told
  }

  return {
    open: (conversationId, seq) => void stages.set(conversationId, { seq, live: [] }),
    close: (conversationId) => void stages.delete(conversationId),
    publish(conversationId, event) {
      const told = place(conversationId, event)
      for (const listener of listeners.get(conversationId) ?? []) {
        try {
          listener(told)
        } catch (error) {
          onError(error)
        }
      }
    },
    subscribe(conversationId, listener) {
      const set = listeners.get(conversationId) ?? new Set()
      listeners.set(conversationId, set.add(listener))
      return () => {
        set.delete(listener)
        if (set.size === 0 && listeners.get(conversationId) === set) listeners.delete(conversationId)
      }
    },
    inFlight: (conversationId) => [...(stages.get(conversationId)?.live ?? [])],
    get size() {
      return new Set([...stages.keys(), ...listeners.keys()]).size
    },
  }
}

/** A response that is entered: what its lanes showed can now be read in the journal. */
export const isHeard = ({ change }: Pick<EntryEvent, 'change'>): boolean => change.type === 'response.received' && change.role === undefined
