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
