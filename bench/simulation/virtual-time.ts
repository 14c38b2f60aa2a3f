import type { WorkerTimers } from '../../src/agent/work/worker.ts'
import { createHeap } from '../../src/core/collections/heap.ts'
import type { Clock } from '../../src/ports/clock.ts'

interface Event {
  readonly at: number
  readonly number: number
  readonly run: () => void
  isCancelled: boolean
}

/**
 * A clock for simulations. Its time advances when no event is left at the current moment. The events of one moment run in the order in
 * which they were added.
 */
export interface VirtualTime extends WorkerTimers {
  readonly clock: Clock
  sleep(ms: number): Promise<void>
  /** Runs the events until the given function returns true, or no event is left. */
  runUntil(isOver: () => boolean): Promise<void>
}

const START = Date.parse('2026-01-01T00:00:00.000Z')

export function createVirtualTime(): VirtualTime {
  const events = createHeap<Event>((a, b) => a.at < b.at || (a.at === b.at && a.number < b.number))
  let now = 0
  let added = 0
  let hex = 0

  function after(ms: number, run: () => void): () => void {
    const event = { at: now + Math.max(0, ms), number: added++, run, isCancelled: false }
    events.push(event)
    return () => {
      event.isCancelled = true
    }
  }

  return {
    nowMs: () => now,
    after,
    sleep: (ms) => new Promise((resolve) => void after(ms, resolve)),
    clock: {
      now: () => new Date(START + Math.floor(now)).toISOString(),
      randomHex: (digits) => (hex++).toString(16).padStart(digits, '0'),
    },
    async runUntil(isOver) {
      while (!isOver()) {
        const event = events.first
        if (event === undefined) return
        events.removeFirst()
        if (event.isCancelled) continue
        now = event.at
        event.run()
        // lets the code that waits for resolved promises run before the next event
        await new Promise((resolve) => void setImmediate(resolve))
      }
    },
  }
}
