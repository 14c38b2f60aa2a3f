/** Time and chance, asked for in one place so that a test can decide both. */
export interface Clock {
  /** ISO 8601, UTC, milliseconds, `Z`. */
  now(): string
  /** Lower-case hex digits nobody can guess. */
  randomHex(digits: number): string
}
