import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { plainLine } from './plain-text.ts'

/** Thrown for a schema that no provider would accept. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** References in a schema are replaced by what they refer to, up to this depth. A schema that contains itself would have no end. */
const MAX_DEPTH = 8
const MAX_DESCRIPTION = 1_000
const MAX_PROPERTIES = 100

const types: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'])

type Reader = (value: unknown, root: JsonObject, depth: number) => Json | undefined

/**
 * The keywords that are kept, and the rule for the value of each. Other keywords are left out: they are not needed to write a call, and a
 * provider may refuse a request because of one that it does not know.
 */
const keywords: Readonly<Record<string, Reader>> = {
  type: readType,
  description: (value) => plainLine(textOf('description', value), MAX_DESCRIPTION),
  enum: (value) => listOf('enum', value).map((choice) => simpleOf('enum', choice)),
  const: (value) => simpleOf('const', value),
  default: (value) => (isSimple(value) ? value : undefined),
  format: (value) => textOf('format', value),
  minimum: numberOf('minimum'),
  maximum: numberOf('maximum'),
  minLength: numberOf('minLength'),
  maxLength: numberOf('maxLength'),
  minItems: numberOf('minItems'),
  maxItems: numberOf('maxItems'),
  items: (value, root, depth) => (Array.isArray(value) ? {} : cleanSchema(value, root, depth + 1)),
  properties: readProperties,
  required: (value) => listOf('required', value).map((name) => textOf('required', name)),
  additionalProperties: (value, root, depth) => (typeof value === 'boolean' ? value : cleanSchema(value, root, depth + 1)),
  anyOf: (value, root, depth) => listOf('anyOf', value).map((option) => cleanSchema(option, root, depth + 1)),
  oneOf: (value, root, depth) => listOf('oneOf', value).map((option) => cleanSchema(option, root, depth + 1)),
}

/**
 * The schema of the parameters of a tool, as a server has sent it. Only keywords that are known remain, in a fixed order, so that the same
 * schema always gives the same bytes. Throws a `SchemaError` if it does not describe an object, or if a keyword has a wrong value.
 */
export function readInputSchema(schema: unknown): JsonObject {
  if (!isObject(schema)) throw new SchemaError('its schema is no object')
  if (schema.type !== undefined && schema.type !== 'object') throw new SchemaError('its schema does not describe an object')
  return { ...cleanSchema(schema, schema as JsonObject, 0), type: 'object' }
}

function cleanSchema(schema: unknown, root: JsonObject, depth: number): JsonObject {
  if (schema === true) return {}
  if (!isObject(schema)) throw new SchemaError('a part of its schema is no object')
  if (depth > MAX_DEPTH) return {}
  if (typeof schema.$ref === 'string') {
    const target = referenced(schema.$ref, root)
    return target === undefined ? {} : cleanSchema(target, root, depth + 1)
  }
  const fields: [string, Json][] = []
  for (const [name, read] of Object.entries(keywords)) {
    if (!Object.hasOwn(schema, name) || schema[name] === undefined) continue
    const value = read(schema[name], root, depth)
    if (value !== undefined) fields.push([name, value])
  }
  return Object.fromEntries(fields)
}

/** What a reference such as `#/$defs/Place` refers to. Undefined for any other form: the value then may be anything. */
function referenced(reference: string, root: JsonObject): unknown {
  const [start, group = '', name = '', ...more] = reference.split('/')
  if (start !== '#' || (group !== '$defs' && group !== 'definitions') || more.length > 0) return undefined
  const definitions = root[group]
  return isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

function readType(value: unknown): Json {
  const names = Array.isArray(value) ? value : [value]
  if (names.length === 0 || !names.every((name) => types.has(name))) throw new SchemaError('`type` in its schema is no type of JSON')
  return value as Json
}

function readProperties(value: unknown, root: JsonObject, depth: number): JsonObject {
  if (!isObject(value)) throw new SchemaError('`properties` in its schema is no object')
  const properties = Object.entries(value)
  if (properties.length > MAX_PROPERTIES) throw new SchemaError(`an object in its schema has more than ${MAX_PROPERTIES} properties`)
  const unfit = properties.find(([name]) => !/^[\w$.@-]{1,64}$/.test(name))
  if (unfit) throw new SchemaError(`${JSON.stringify(unfit[0].slice(0, 80))} is no name of a property that providers accept`)
  return Object.fromEntries(properties.map(([name, property]) => [name, cleanSchema(property, root, depth + 1)]))
}

function listOf(keyword: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new SchemaError(`\`${keyword}\` in its schema is no list`)
  return value
}

function textOf(keyword: string, value: unknown): string {
  if (typeof value !== 'string') throw new SchemaError(`\`${keyword}\` in its schema is no text`)
  return value
}

function numberOf(keyword: string): Reader {
  return (value) => {
    if (typeof value !== 'number') throw new SchemaError(`\`${keyword}\` in its schema is no number`)
    return value
  }
}

const isSimple = (value: unknown): value is Json => value === null || ['string', 'number', 'boolean'].includes(typeof value)

function simpleOf(keyword: string, value: unknown): Json {
  if (!isSimple(value)) throw new SchemaError(`\`${keyword}\` in its schema has a value that is no text, number or boolean`)
  return value
}
