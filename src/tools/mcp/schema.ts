import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { plainLine } from './plain-text.ts'

/** Thrown for a schema that no provider would accept. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** Parts of a schema that are nested deeper, also by references, are replaced by a schema that accepts any value. */
const MAX_DEPTH = 8
const MAX_DESCRIPTION = 1_000
const MAX_PROPERTIES = 100
/**
 * How many parts a schema may have when its references are replaced. A schema with more parts is refused. A few schemas that refer to each
 * other can have millions of parts.
 */
const MAX_PARTS = 2_000

const types: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'])

/** The state of a reader: the whole schema, the references that are being replaced, and how many parts were read so far. */
interface Place {
  readonly root: JsonObject
  readonly depth: number
  readonly references: readonly string[]
  readonly read: { parts: number }
}

type Reader = (value: unknown, place: Place) => Json | undefined

/**
 * The keywords that are kept, and the rule for the value of each. Other keywords are left out. A model does not need them to write a call,
 * and a provider may refuse a request with an unknown keyword.
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
  items: (value, place) => (Array.isArray(value) ? {} : cleanSchema(value, below(place))),
  properties: readProperties,
  required: (value) => listOf('required', value).map((name) => textOf('required', name)),
  additionalProperties: (value, place) => (typeof value === 'boolean' ? value : cleanSchema(value, below(place))),
  anyOf: (value, place) => listOf('anyOf', value).map((option) => cleanSchema(option, below(place))),
  oneOf: (value, place) => listOf('oneOf', value).map((option) => cleanSchema(option, below(place))),
}

/**
 * The schema of the parameters of a tool, as a server has sent it. Only keywords that are known remain, in a fixed order, so that the same
 * schema always gives the same bytes. Throws a `SchemaError` if it does not describe an object, or if a keyword has a wrong value.
 */
export function readInputSchema(schema: unknown): JsonObject {
  if (!isObject(schema)) throw new SchemaError('its schema is no object')
  if (schema.type !== undefined && schema.type !== 'object') throw new SchemaError('its schema does not describe an object')
  const place: Place = { root: schema as JsonObject, depth: 0, references: [], read: { parts: 0 } }
  return { ...cleanSchema(schema, place), type: 'object' }
}

const below = (place: Place): Place => ({ ...place, depth: place.depth + 1 })

function cleanSchema(schema: unknown, place: Place): JsonObject {
  if (schema === true) return {}
  if (!isObject(schema)) throw new SchemaError('a part of its schema is no object')
  if (place.depth > MAX_DEPTH) return {}
  if (++place.read.parts > MAX_PARTS) throw new SchemaError('its schema has too many parts')
  if (typeof schema.$ref === 'string') {
    const target = referenced(schema.$ref, place.root)
    // A reference to a schema that contains this reference is replaced by a schema that accepts any value. Otherwise this would never end.
    if (target === undefined || place.references.includes(schema.$ref)) return {}
    return cleanSchema(target, { ...below(place), references: [...place.references, schema.$ref] })
  }
  const fields: [string, Json][] = []
  for (const [name, read] of Object.entries(keywords)) {
    if (!Object.hasOwn(schema, name) || schema[name] === undefined) continue
    const value = read(schema[name], place)
    if (value !== undefined) fields.push([name, value])
  }
  return Object.fromEntries(fields)
}

/** What a reference such as `#/$defs/Place` refers to. Undefined for a reference of any other form. The schema then accepts any value. */
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

function readProperties(value: unknown, place: Place): JsonObject {
  if (!isObject(value)) throw new SchemaError('`properties` in its schema is no object')
  const properties = Object.entries(value)
  if (properties.length > MAX_PROPERTIES) throw new SchemaError(`an object in its schema has more than ${MAX_PROPERTIES} properties`)
  const unfit = properties.find(([name]) => !/^[\w$.@-]{1,64}$/.test(name))
  if (unfit)
    throw new SchemaError(`its schema has the property name ${JSON.stringify(unfit[0].slice(0, 80))}, which providers do not accept`)
  return Object.fromEntries(properties.map(([name, property]) => [name, cleanSchema(property, below(place))]))
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
