import type { TurnEvent } from '../core/event.ts'

/** Tells whoever listens to a conversation, in order. A listener that throws is its own problem. */
export interface Hub {
  publish(conversationId: string, event: TurnEvent): void
  /** Returns how to stop listening. */
  subscribe(conversationId: string, listener: (event: TurnEvent) => void): () => void
}

export function createHub(onError: (error: unknown) => void): Hub {
  const listeners = new Map<string, Set<(event: TurnEvent) => void>>()
  return {
    publish(conversationId, event) {
      for (const listener of listeners.get(conversationId) ?? []) {
        try {
          listener(event)
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
        if (set.size === 0) listeners.delete(conversationId)
      }
    },
  }
}

/** Events that wait for a reader. Ends after `close`, once everything was read. */
export interface EventQueue extends AsyncIterable<TurnEvent> {
  push(event: TurnEvent): void
  close(): void
}

export function createEventQueue(onAbandoned: () => void = () => {}): EventQueue {
  const waiting: TurnEvent[] = []
  let wake: (() => void) | undefined
  let closed = false
  return {
    push(event) {
      waiting.push(event)
      wake?.()
    },
    close() {
      closed = true
      wake?.()
    },
    async *[Symbol.asyncIterator]() {
      try {
        for (let next = 0; ; ) {
          while (next < waiting.length) yield waiting[next++] as TurnEvent
          waiting.length = 0
          next = 0
          if (closed) return
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          wake = undefined
        }
      } finally {
        onAbandoned()
      }
    },
  }
}
