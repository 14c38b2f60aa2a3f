import { z } from 'zod'

// The rules for the values of settings, with the messages for values that break them. A value of an environment variable is a text.

export const number = (schema: z.ZodNumber) => z.preprocess((value) => (typeof value === 'string' ? Number(value) : value), schema)
const textRule = 'must be a text that is not empty'
export const text = z.string(textRule).min(1, textRule)
export const oneOf = <const Choices extends readonly [string, ...string[]]>(...choices: Choices) =>
  z.enum(choices, `must be ${choices.join(' or ')}`)

const foldersRule = 'must be a list of folders'
export const folders = z.preprocess(
  (value) => (typeof value === 'string' ? listIn(value) : value),
  z.union([z.array(text, foldersRule), z.custom<object>((value) => typeof value === 'object' && !Array.isArray(value), foldersRule)]),
)

export const originRule = 'must be an origin such as https://shop.example'
export const originsRule = 'must be a list of origins such as https://shop.example'
export const connectionsRule = 'must be a whole number from 1 to 1000'
export const countRule = 'must be a whole number from 1 to 100000'
export const attemptsRule = 'must be a whole number from 1 to 100'
export const backlogRule = 'must be a whole number from 1 to 10000000'
export const portRule = 'must be a whole number from 0 to 65535'
export const roundsRule = 'must be a whole number from 1 to 1000'
export const moneyRule = 'must be a number above 0'
export const tokensRule = 'must be a whole number of tokens above 0'
export const perMinuteRule = 'must be a whole number from 1 to 1000000000'
export const runningRule = 'must be a whole number from 1 to 1000000'
const limitsRule =
  'must be { tokens, money } or a text such as tokens=2000000,money=5: tokens must be a whole number, and neither may be negative'
export const limits = z
  .preprocess(
    (value) => (typeof value === 'string' ? limitsIn(value) : value),
    z.strictObject(
      {
        tokens: z.int(limitsRule).min(0, limitsRule).optional(),
        money: z.number(limitsRule).min(0, limitsRule).max(1e9, limitsRule).optional(),
      },
      limitsRule,
    ),
  )
  .optional()
export const secondsRule = 'must be a whole number from 1 to 86400'
const megabytesRule = 'must be a whole number from 16 to 1048576'
export const megabytes = number(z.int(megabytesRule).min(16, megabytesRule).max(1_048_576, megabytesRule)).optional()
export const textOrObject = (rule: string) =>
  z.union([text, z.custom<object>((value) => typeof value === 'object' && value !== null && !Array.isArray(value))], rule)

/** The entries of a list with commas between them. `none` is an empty list. */
function listIn(value: string): readonly string[] {
  return value.trim() === 'none' ? [] : value.split(',').map((entry) => entry.trim())
}

/**
 * The limits in a text such as `tokens=2000000,money=5`. Returns a value that the schema rejects if the
 * text has another form or names an amount twice.
 */
function limitsIn(value: string): unknown {
  const pairs = value.split(',').map((pair) => pair.split('=').map((part) => part.trim()))
  if (pairs.some(({ length, 1: amount }) => length !== 2 || amount === '')) return 'invalid'
  const named = new Map(pairs.map(([name, amount]) => [name, Number(amount)]))
  return named.size < pairs.length ? 'invalid' : Object.fromEntries(named)
}
