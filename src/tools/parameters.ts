import type { ParameterType } from '../core/decision/signature.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { jsonSchemaOf, type StandardSchemaV1 } from '../core/standard-schema.ts'
import type { Parameter } from './tool.ts'

const parameterTypes: ReadonlySet<unknown> = new Set<ParameterType>(['string', 'number', 'integer', 'boolean', 'array', 'object'])

const maxShapeDepth = 4
const maxShapeLength = 400

/** The parameters that a schema describes, in the order of its fields. Undefined when the schema can not describe itself as JSON Schema. */
export const parametersOf = (schema: StandardSchemaV1): readonly Parameter[] | undefined => parametersOfJsonSchema(jsonSchemaOf(schema))

/** The parameters that a JSON Schema describes. Undefined when it describes no object with properties. */
export function parametersOfJsonSchema(description: unknown): readonly Parameter[] | undefined {
  if (!isObject(description) || !isObject(description.properties)) return undefined
  const required = Array.isArray(description.required) ? description.required : []
  return Object.entries(description.properties).map(([name, property]) => parameterOf(name, property, required.includes(name)))
}

function parameterOf(name: string, property: unknown, required: boolean): Parameter {
  const schema = isObject(property) ? property : {}
  const type = parameterTypes.has(schema.type) ? (schema.type as ParameterType) : 'any'
  const shape = shapeOf(schema)
  return {
    name,
    type,
    required: required && !('default' in schema),
    ...(typeof schema.description === 'string' && { description: schema.description }),
    ...('default' in schema && { default: schema.default }),
    ...(isSelfContained(schema) && { schema: schema as JsonObject }),
    ...(shape !== type && shape.length <= maxShapeLength && { shape }),
  }
}

/** Whether a JSON Schema has no references. Only then does it have the same meaning outside of the schema that contains it. */
const isSelfContained = (schema: object): boolean => Object.keys(schema).length > 0 && !JSON.stringify(schema).includes('"$ref"')

/** Whether a JSON Schema accepts only texts, or texts and null, at the position `at`, such as `['mails', '0', 'body']`. */
export function takesText(schema: unknown, at: readonly string[]): boolean {
  if (!isObject(schema)) return false
  const options = schema.anyOf ?? schema.oneOf
  if (Array.isArray(options)) {
    const values = options.filter((option) => !isObject(option) || option.type !== 'null')
    return values.length > 0 && values.every((option) => takesText(option, at))
  }
  const [name, ...rest] = at
  if (name === undefined) return schema.type === 'string' || (Array.isArray(schema.type) && schema.type.join() === 'string,null')
  if (schema.type === 'array') return takesText(schema.items, rest)
  const { properties } = schema
  return takesText(isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties, rest)
}

/**
 * Writes a JSON Schema in a short notation for the model. A schema without a short form becomes `any`. The tool still rejects wrong values
 * when it is called.
 */
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
  const requiredNames = Array.isArray(required) ? required : []
  const fields = Object.entries(properties).map(
    ([name, property]) => `${name}${requiredNames.includes(name) ? '' : '?'}: ${shapeOf(property, depth + 1)}`,
  )
  return fields.length === 0 ? 'object' : `{${fields.join(', ')}}`
}
