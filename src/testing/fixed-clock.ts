import type { Clock } from '../ports/clock.ts'

/** A clock for tests. */
export interface FixedClock extends Clock {
  set(now: string): void
  advance(milliseconds: number): void
}

/**
 * A clock whose time changes only when a test calls `set` or `advance`. Its random values come from a counter, so they are the same in
 * every run.
 */
export function createFixedClock(start = '2026-01-01T00:00:00.000Z'): FixedClock {
  let time = Date.parse(start)
  let drawn = 0
  return {
    now: () => new Date(time).toISOString(),
    randomHex: (digits) => (++drawn).toString(16).padStart(digits, '0').slice(-digits),
    set(now) {
      time = Date.parse(now)
    },
    advance(milliseconds) {
      time += milliseconds
    },
  }
}
