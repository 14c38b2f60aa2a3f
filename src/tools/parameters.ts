import type { ParameterType, Parameter as SignatureParameter } from '../core/decision/signature.ts'
import { isObject } from '../core/json.ts'
import type { StandardSchemaV1 } from '../core/standard-schema.ts'

/** One parameter as the model reads it. */
export interface Parameter extends SignatureParameter {
  readonly description?: string
  readonly default?: unknown
  /** What the model may write, as it reads it: `"a" | "b"`, `array of {name: string}`. The type when not said. */
  readonly shape?: string
}

const parameterTypes: ReadonlySet<unknown> = new Set<ParameterType>(['string', 'number', 'integer', 'boolean', 'array', 'object'])

const maxShapeDepth = 4
const maxShapeLength = 400

/** Read off the schema, in the order its author wrote them. Undefined when the schema cannot describe itself. */
export function parametersOf(schema: StandardSchemaV1): readonly Parameter[] | undefined {
  const description = jsonSchemaOf(schema)
  if (!isObject(description) || !isObject(description.properties)) return undefined
  const required = Array.isArray(description.required) ? description.required : []
  return Object.entries(description.properties).map(([name, property]) => parameterOf(name, property, required.includes(name)))
}

/** Schemas of the Standard JSON Schema interface say what they accept; zod's do. */
function jsonSchemaOf(schema: StandardSchemaV1): unknown {
  const { jsonSchema } = schema['~standard'] as { readonly jsonSchema?: { input?: (options: { target: string }) => unknown } }
  return typeof jsonSchema?.input === 'function' ? jsonSchema.input({ target: 'draft-2020-12' }) : undefined
}

function parameterOf(name: string, property: unknown, required: boolean): Parameter {
  const shape = isObject(property) ? property : {}
  const type = parameterTypes.has(shape.type) ? (shape.type as ParameterType) : 'any'
  const written = shapeOf(shape)
  return {
    name,
    type,
    required: required && !('default' in shape),
    ...(typeof shape.description === 'string' && { description: shape.description }),
    ...('default' in shape && { default: shape.default }),
    ...(written !== type && written.length <= maxShapeLength && { shape: written }),
  }
}

/** JSON Schema in a few words. What has no short form is `any`: the tool will say what it did not accept. */
function shapeOf(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > maxShapeDepth) return 'any'
  const options = schema.anyOf ?? schema.oneOf
  if (Array.isArray(options)) return options.map((option) => shapeOf(option, depth + 1)).join(' | ')
  if (Array.isArray(schema.enum)) return schema.enum.map((choice) => JSON.stringify(choice)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.type === 'array') return schema.items === undefined ? 'array' : `array of ${shapeOf(schema.items, depth + 1)}`
  if (schema.type === 'object' && isObject(schema.properties)) return objectShape(schema.properties, schema.required, depth)
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  return typeof schema.type === 'string' ? schema.type : 'any'
}

function objectShape(properties: Readonly<Record<string, unknown>>, required: unknown, depth: number): string {
  const needed = Array.isArray(required) ? required : []
  const fields = Object.entries(properties).map(([name, property]) => {
    return `${name}${needed.includes(name) ? '' : '?'}: ${shapeOf(property, depth + 1)}`
  })
  return fields.length === 0 ? 'object' : `{${fields.join(', ')}}`
}
