export type ParameterType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'any'

export interface Parameter {
  readonly name: string
  readonly type: ParameterType
  readonly required: boolean
}

/** What must be known of a tool to say whether a call of it makes sense. */
export interface ToolSignature {
  readonly id: string
  /** In the documented order. */
  readonly parameters: readonly Parameter[]
  /** `hard` where content streams to the user while it is written: what says where it goes must come first. */
  readonly order: 'hard' | 'soft'
  /** How many of the first parameters a hard order binds; all of them when not said. */
  readonly orderedCount?: number
  /** Runs the `code` channel, and needs a contract. */
  readonly exec?: true
  /** Exists only inside programs. */
  readonly onlyInCode?: true
  readonly strategy: 'exploration' | 'exploitation' | 'neutral'
}

/** The tools of a turn, as far as a decision can name them. */
export interface ToolSignatures {
  readonly find: (id: string) => ToolSignature | undefined
  readonly ids: readonly string[]
}

/** A value bound at execution: `ref:<logical path>` may stand for anything. */
export const isReference = (value: unknown): boolean => typeof value === 'string' && value.startsWith('ref:')

export function matchesType(value: unknown, type: ParameterType): boolean {
  switch (type) {
    case 'any':
      return true
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return Number.isFinite(value)
    case 'string':
    case 'boolean':
      return typeof value === type
    default:
      return type satisfies never
  }
}

const ordinals = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth', 'eleventh', 'twelfth']

export interface OrderProblem {
  readonly binding: boolean
  /** `path_not_first`, `content_not_third`: the first parameter that is not where it belongs, counted in the documented order. */
  readonly code: string
  readonly expected: readonly string[]
  readonly got: readonly string[]
}

/**
 * Were the parameters written in the documented order? Only those that were written count: leaving one out moves nothing.
 *
 *   documented  path channel content kind scratchpad      bound  path channel content kind
 *   written     path kind content                         so     path content kind          content_not_third
 */
export function checkOrder(signature: ToolSignature, written: readonly string[]): OrderProblem | undefined {
  if (isAscending(signature, written)) return undefined
  const names = signature.parameters.map(({ name }) => name)
  const documented = new Set(names)
  const got = [...new Set(written)].filter((name) => documented.has(name))
  const present = new Set(got)
  const expected = names.filter((name) => present.has(name))
  const displaced = expected.findIndex((name, index) => got[index] !== name)
  if (displaced === -1) return undefined
  const name = expected[displaced] as string
  const place = names.indexOf(name)
  const binding = signature.order === 'hard' && place < (signature.orderedCount ?? names.length)
  const ordinal = ordinals[place]
  return { binding, code: ordinal === undefined ? 'param_order' : `${name}_not_${ordinal}`, expected, got }
}

/** The ordinary case, without building anything: each known name stands at or behind the one before it. */
function isAscending({ parameters }: ToolSignature, written: readonly string[]): boolean {
  let last = 0
  for (const key of written) {
    const place = positionOf(key, parameters)
    if (place === -1) continue
    if (place < last) return false
    last = place
  }
  return true
}

function positionOf(key: string, parameters: ToolSignature['parameters']): number {
  for (let place = 0; place < parameters.length; place++) if (parameters[place]?.name === key) return place
  return -1
}
