/** The agent's source of time and randomness. Tests replace it, so that both are fixed. */
export interface Clock {
  /** The current time as ISO 8601 in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`. */
  now(): string
  /** That many lower-case hex digits from a cryptographic random source. */
  randomHex(digits: number): string
}
