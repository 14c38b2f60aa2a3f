import type { Clock } from '../ports/clock.ts'

export interface FixedClock extends Clock {
  /** Time stands still until told otherwise. */
  set(now: string): void
  advance(milliseconds: number): void
}

/** A clock that a test moves by hand; its dice fall the same way every time, and never twice alike. */
export function createFixedClock(start = '2026-01-01T00:00:00.000Z'): FixedClock {
  let time = Date.parse(start)
  let thrown = 0
  return {
    now: () => new Date(time).toISOString(),
    randomHex: (digits) => (++thrown).toString(16).padStart(digits, '0').slice(-digits),
    set(now) {
      time = Date.parse(now)
    },
    advance(milliseconds) {
      time += milliseconds
    },
  }
}
