/** The only source of time and randomness, so that tests can fix both. */
export interface Clock {
  /** ISO 8601, UTC, milliseconds, `Z`. */
  now(): string
  /** Lower-case hex digits from a cryptographic random source. */
  randomHex(digits: number): string
}
