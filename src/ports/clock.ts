/** The agent's source of the current time and of random digits. Tests pass a clock that returns fixed values. */
export interface Clock {
  /** The current time as ISO 8601 in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`. */
  now(): string
  /** Returns `digits` lower-case hex digits from a cryptographic random source. */
  randomHex(digits: number): string
}
