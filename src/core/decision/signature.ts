// The signature of a tool: its parameters, their types and the order in which the model has to write them.

/** The JSON type of a parameter. */
export type ParameterType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'any'

/** A parameter of a tool. */
export interface Parameter {
  readonly name: string
  readonly type: ParameterType
  readonly required: boolean
}

/** The properties of a tool that `checkCall` needs. */
export interface ToolSignature {
  readonly id: string
  /** The parameters, in the documented order. */
  readonly parameters: readonly Parameter[]
  /**
   * With the order `hard`, a call whose parameters are in another order is rejected. With `soft`, the model only gets a warning. The order
   * is `hard` for tools whose content is shown to the user while the model writes it. The parameters that say where the content is shown
   * must come before the content.
   */
  readonly order: 'hard' | 'soft'
  /** With a hard order, only this many parameters have to be in order, counted from the first. Default: all parameters. */
  readonly orderedCount?: number
  /** Set for tools that run the program in the `code` channel. They need a contract. */
  readonly exec?: true
  /** Set for tools that only programs can call. The model can not call them with `call_tool`. */
  readonly onlyInCode?: true
  /** Set for tools that the agent has but that can not be called in this turn. */
  readonly notOffered?: true
  readonly strategy: 'exploration' | 'exploitation' | 'neutral'
}

/** The signatures of the tools that a turn offers. */
export interface ToolSignatures {
  readonly find: (id: string) => ToolSignature | undefined
  readonly ids: readonly string[]
  /**
   * The ids of all tools in a native request, including tools that can not be called in this turn. Undefined when the list would equal
   * `ids`.
   */
  readonly requestedIds?: readonly string[]
}

/**
 * True for `ref:<logical path>`. When the tool runs, the value is replaced by the content at this path. Therefore a reference is accepted
 * for a parameter of any type.
 */
export const isReference = (value: unknown): boolean => typeof value === 'string' && value.startsWith('ref:')

/** Matches `ref:` followed by a logical or physical path. An ordinary sentence that begins with `ref:` does not match. */
const referencePattern =
  /^ref:\s*((?:conv:)?(?:fi|ar|tc|so|su|ws|ks|sk|skill):\S[^\n]*|(?:[A-Za-z0-9_-]+\/)?(?:files|outputs|attachments)\/[^\n]+)$/

const maxReferenceLength = 4_096

/** The path in a reference. Undefined when the value is not a reference. */
export function parseReference(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('ref:') || value.length > maxReferenceLength) return undefined
  return referencePattern.exec(value)?.[1]?.trim()
}

/** Whether a value contains a reference at any depth. */
export function hasReference(value: unknown): boolean {
  if (typeof value === 'string') return parseReference(value) !== undefined
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasReference)
  for (const key in value) if (hasReference((value as { [key: string]: unknown })[key])) return true
  return false
}

/** True when a JSON value has the type that a parameter declares. */
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

export interface OrderProblem {
  /** True when a hard order applies to the first parameter that is out of order. In this case the call is rejected. */
  readonly binding: boolean
  /** The first parameter that is out of order and its place in the documented order, for example `content_not_third`. */
  readonly code: string
  readonly expected: readonly string[]
  readonly got: readonly string[]
}

/**
 * Checks that the parameters were written in the documented order. Omitted and unknown parameters do not matter.
 *
 *   documented   path channel content kind scratchpad
 *   written      path kind content
 *   expected     path content kind               -> content_not_third
 */
export function checkOrder(signature: ToolSignature, written: readonly string[]): OrderProblem | undefined {
  if (isInOrder(signature, written)) return undefined
  const names = signature.parameters.map(({ name }) => name)
  const documented = new Set(names)
  const got = [...new Set(written)].filter((name) => documented.has(name))
  const present = new Set(got)
  const expected = names.filter((name) => present.has(name))
  const displaced = expected.findIndex((name, index) => got[index] !== name)
  if (displaced === -1) return undefined
  const name = expected[displaced] as string
  const position = names.indexOf(name)
  const binding = signature.order === 'hard' && position < (signature.orderedCount ?? names.length)
  const ordinal = ordinals[position]
  return { binding, code: ordinal === undefined ? 'param_order' : `${name}_not_${ordinal}`, expected, got }
}

/** True when the known parameters are in the documented order. Unknown parameters are ignored. */
function isInOrder({ parameters }: ToolSignature, written: readonly string[]): boolean {
  let last = -1
  for (const name of written) {
    const position = parameters.findIndex((parameter) => parameter.name === name)
    if (position === -1) continue
    if (position < last) return false
    last = position
  }
  return true
}

const ordinals = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth', 'eleventh', 'twelfth']
