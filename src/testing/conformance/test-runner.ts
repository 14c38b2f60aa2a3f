/** The functions of a test runner that the conformance suites use. Those of Vitest and Jest fit; the package depends on neither. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => void
  readonly it: (name: string, body: () => Promise<void>) => void
  readonly expect: (value: unknown) => Expectation
}

/** What the suites use of the runner's `expect`. */
export interface Expectation {
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
  readonly rejects: { toMatchObject(expected: object): Promise<unknown> }
}
