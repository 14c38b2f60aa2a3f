/** What a conformance suite needs of a test runner. Vitest and Jest both have it; we ship without either. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => void
  readonly it: (name: string, body: () => Promise<void>) => void
  readonly expect: (value: unknown) => Expectation
}

interface Expectation {
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
  readonly rejects: { toMatchObject(expected: object): Promise<unknown> }
}
