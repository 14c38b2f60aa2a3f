import type { ParameterType, Parameter as SignatureParameter } from '../core/decision/signature.ts'
import { isObject } from '../core/json.ts'
import type { StandardSchemaV1 } from '../core/standard-schema.ts'

/** One parameter as the model reads it. */
export interface Parameter extends SignatureParameter {
  readonly description?: string
  readonly default?: unknown
  /** What the model may write, when there are only a few things. */
  readonly choices?: readonly string[]
}

const types: ReadonlySet<unknown> = new Set<ParameterType>(['string', 'number', 'integer', 'boolean', 'array', 'object'])

/** Read off the schema, in the order its author wrote them. Undefined when the schema cannot describe itself. */
export function parametersOf(schema: StandardSchemaV1): readonly Parameter[] | undefined {
  const description = describe(schema)
  if (!isObject(description) || !isObject(description.properties)) return undefined
  const required = Array.isArray(description.required) ? description.required : []
  return Object.entries(description.properties).map(([name, property]) => parameter(name, property, required.includes(name)))
}

/** Schemas of the Standard JSON Schema interface say what they accept; zod's do. */
function describe(schema: StandardSchemaV1): unknown {
  const { jsonSchema } = schema['~standard'] as { readonly jsonSchema?: { input?: (options: { target: string }) => unknown } }
  return typeof jsonSchema?.input === 'function' ? jsonSchema.input({ target: 'draft-2020-12' }) : undefined
}

function parameter(name: string, property: unknown, required: boolean): Parameter {
  const shape = isObject(property) ? property : {}
  const choices =
    Array.isArray(shape.enum) && shape.enum.every((choice) => typeof choice === 'string') ? (shape.enum as string[]) : undefined
  return {
    name,
    type: types.has(shape.type) ? (shape.type as ParameterType) : 'any',
    required: required && !('default' in shape),
    ...(typeof shape.description === 'string' && { description: shape.description }),
    ...('default' in shape && { default: shape.default }),
    ...(choices && { choices }),
  }
}
