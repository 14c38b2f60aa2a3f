import { ellipsize } from './cut.ts'
import { redact } from './secrets.ts'

/** The error for an option with an invalid value. Its message says what was given and what is expected. */
export class InvalidOption extends RangeError {
  override readonly name = 'InvalidOption'
  /** The name of the function that was called, for example `createAgent`. */
  readonly where: string
  /** The option, for example `settings.maxRounds` or `tools[0].run`. Empty when the options are not an object. */
  readonly option: string

  constructor(where: string, option: string, message: string, options?: { readonly cause: unknown }) {
    super(`${where}: ${message}`, options)
    this.where = where
    this.option = option
  }
}

interface OptionProblem {
  /** The path from the checked value to the invalid one, for example `.settings.maxRounds`. */
  readonly at: string
  readonly message: (option: string) => string
}

/**
 * A rule for the value of an option. It returns the first problem of the value, or undefined. A rule must not call methods of the value.
 * The value may have any type, because callers in JavaScript have no compiler that checks types.
 */
export type OptionRule = (value: unknown) => OptionProblem | undefined

export type OptionRules<Options> = { readonly [Name in keyof Options]-?: OptionRule }

/** Throws an `InvalidOption` for the first option that breaks its rule. */
export function checkOptions(where: string, options: unknown, rule: OptionRule): void {
  const problem = rule(options)
  if (!problem) return
  const option = problem.at.replace(/^\./, '')
  throw new InvalidOption(where, option, problem.message(option === '' ? 'its options' : `\`${option}\``))
}

/** Makes a rule from a function that accepts or rejects a value. `expected` completes the sentence "… must be". */
export const expects =
  (expected: string, accepts: (value: unknown) => boolean): OptionRule =>
  (value) =>
    accepts(value) ? undefined : { at: '', message: (option) => `${option} must be ${expected}, not ${describeValue(value)}` }

export const text = expects('a text', (value) => typeof value === 'string')
export const filledText = expects('a text that is not empty', (value) => typeof value === 'string' && value.trim() !== '')
export const flag = expects('true or false', (value) => typeof value === 'boolean')
export const callback = expects('a function', (value) => typeof value === 'function')

export const numberFrom = (minimum: number, maximum = Number.POSITIVE_INFINITY): OptionRule =>
  expects(`a number ${limits(minimum, maximum)}`, (value) => typeof value === 'number' && value >= minimum && value <= maximum)

export const wholeNumberFrom = (minimum: number, maximum = Number.MAX_SAFE_INTEGER): OptionRule =>
  expects(
    `a whole number ${limits(minimum, maximum)}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum,
  )

const limits = (minimum: number, maximum: number): string =>
  maximum >= Number.MAX_SAFE_INTEGER ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`

export const oneOf = (...choices: readonly unknown[]): OptionRule =>
  expects(choices.map((choice) => JSON.stringify(choice)).join(' or '), (value) => choices.includes(value))

/** A rule for an object that has at least these functions, for example an implementation of a port. */
export const objectWith = (what: string, ...functions: readonly string[]): OptionRule =>
  group(what, Object.fromEntries(functions.map((name) => [name, callback])), 'other names allowed')

export const optional =
  (rule: OptionRule): OptionRule =>
  (value) =>
    value === undefined ? undefined : rule(value)

export const listOf =
  (what: string, rule: OptionRule): OptionRule =>
  (value) => {
    if (!Array.isArray(value)) return expects(`a list of ${what}`, () => false)(value)
    for (let index = 0; index < value.length; index++) {
      const problem = rule(value[index])
      if (problem) return { ...problem, at: `[${index}]${problem.at}` }
    }
    return undefined
  }

/** A rule for an object with named options. By default a name that is not in `rules` is a problem, because it is probably misspelt. */
export const group =
  (
    what: string,
    rules: Readonly<Record<string, OptionRule>>,
    names: 'only these names' | 'other names allowed' = 'only these names',
  ): OptionRule =>
  (value) => {
    if (!canHaveMembers(value) || value instanceof Promise) return expects(what, () => false)(value)
    const members = value as Readonly<Record<string, unknown>>
    if (names === 'only these names') {
      const unknown = Object.keys(members).find((name) => !Object.hasOwn(rules, name) && members[name] !== undefined)
      if (unknown !== undefined) return unknownName(unknown, Object.keys(rules))
    }
    for (const name of Object.keys(rules)) {
      const problem = rules[name]?.(members[name])
      if (problem) return { ...problem, at: `.${name}${problem.at}` }
    }
    return undefined
  }

const unknownName = (name: string, known: readonly string[]): OptionProblem => ({
  at: `.${name}`,
  message: (option) => `there is no option ${option}. The options here are ${known.join(', ')}`,
})

const canHaveMembers = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null && !Array.isArray(value)) || typeof value === 'function'

const MAX_SHOWN_CHARS = 60

/** Describes a value for an error message. It calls no function of the value, and it removes secrets. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'string') return `the text ${JSON.stringify(ellipsize(redact(value), MAX_SHOWN_CHARS))}`
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Promise) return 'a promise: write `await` before it'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
