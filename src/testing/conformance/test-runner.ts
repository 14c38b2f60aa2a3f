/** The functions of a test runner that the conformance suites call. Pass the functions of Vitest or Jest. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => void
  readonly it: (name: string, body: () => Promise<void>) => void
  readonly expect: (value: unknown) => Expectation
}

/** The assertions that the conformance suites call. */
export interface Expectation {
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
  readonly rejects: { toMatchObject(expected: object): Promise<unknown> }
}
