import type { InboxEvent } from '../core/timeline/change.ts'
import type { Ledger } from './ledger.ts'

/** What a user asks of a running turn from outside. */
export type Steering = 'redirect' | 'wrap_up'

/**
 * Where events wait until the turn looks. A steer does not wait: it fires the signal of whatever the turn is doing.
 * Events are entered in the journal when they are accepted, so a crash loses none and a second delivery changes nothing.
 */
export interface Inbox {
  accept(event: Omit<InboxEvent, 'sequence'>): Promise<void>
  readonly waiting: readonly InboxEvent[]
  /** The turn does something that a steer may interrupt. Call `end` when it is done. */
  beginPhase(turn: AbortSignal): Phase
  /** Resolves when an event is accepted, or after `ms`. */
  pause(ms: number): Promise<void>
}

export interface Phase {
  readonly signal: AbortSignal
  end(): void
}

export function createInbox(ledger: Ledger): Inbox {
  const phases = new Set<AbortController>()
  const sleepers = new Set<() => void>()

  return {
    get waiting() {
      return ledger.timeline.inbox
    },
    async accept(event) {
      await ledger.commit((timeline) => {
        const known = timeline.inbox.some(({ event_id }) => event_id === event.event_id)
        return known ? [] : [{ type: 'event.accepted', event: { ...event, sequence: (timeline.lastEvent?.sequence ?? 0) + 1 } }]
      })
      if (event.kind === 'steer') for (const phase of phases) phase.abort(new DOMException('The user steered.', 'AbortError'))
      for (const wake of sleepers) wake()
    },
    beginPhase(turn) {
      const phase = new AbortController()
      const stop = () => phase.abort(turn.reason)
      if (turn.aborted) stop()
      else turn.addEventListener('abort', stop, { once: true })
      phases.add(phase)
      return {
        signal: phase.signal,
        end() {
          phases.delete(phase)
          turn.removeEventListener('abort', stop)
        },
      }
    },
    pause(ms) {
      if (ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          sleepers.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        sleepers.add(wake)
      })
    },
  }
}
