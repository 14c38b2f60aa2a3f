import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** With more steps than this, a check would keep the process busy for too long. A step takes about a microsecond. */
const maxSteps = 200_000

/** Keywords whose schemas are checked with the same value. */
const sameValue = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'] as const
/** Keywords whose schemas are checked with the parts of a value. For the count, each of these schemas applies to every part. */
const parts = ['items', 'prefixItems', 'additionalItems', 'contains', 'additionalProperties', 'propertyNames', 'patternProperties'] as const

/**
 * Whether checking a value with a JSON Schema takes too long. Two branches of a schema may lead to the same part of it, and a check follows
 * both. So a schema of a few lines can need more steps than any computer can do. Clients of a server may send such a schema. The steps are
 * counted without checking anything, and each pair of a schema and a value is counted only once. The check of a schema that refers to
 * itself with the same value never ends.
 */
export function takesTooLong(root: JsonObject, value: unknown): boolean {
  const counted = new Map<object, Map<unknown, number>>()

  function stepsOf(schema: unknown, part: unknown): number {
    if (Array.isArray(schema)) return sum(schema, part)
    if (!isObject(schema)) return 1
    const known = counted.get(schema) ?? new Map<unknown, number>()
    counted.set(schema, known)
    const before = known.get(part)
    if (before !== undefined) return before
    known.set(part, Number.POSITIVE_INFINITY) // the result if the schema leads back to itself with the same value
    const steps = countSteps(schema as JsonObject, part)
    known.set(part, steps)
    return steps
  }

  const sum = (schemas: readonly unknown[], part: unknown) => schemas.reduce<number>((total, schema) => total + stepsOf(schema, part), 0)

  function countSteps(schema: JsonObject, part: unknown): number {
    let steps =
      1 +
      sum(
        sameValue.flatMap((keyword) => (Object.hasOwn(schema, keyword) ? [schema[keyword]] : [])),
        part,
      )
    if (typeof schema.$ref === 'string') steps += stepsOf(resolve(root, schema.$ref), part)
    if (typeof part !== 'object' || part === null) return steps
    for (const [name, inner] of Object.entries(part)) {
      steps += sum(
        parts.flatMap((keyword) => (Object.hasOwn(schema, keyword) ? [schema[keyword]] : [])),
        inner,
      )
      const { properties } = schema
      if (isObject(properties) && Object.hasOwn(properties, name)) steps += stepsOf((properties as JsonObject)[name], inner)
    }
    return steps
  }

  return stepsOf(root, value) > maxSteps
}

/** The schema to which a reference such as `#/$defs/tree` leads. Undefined when there is none. */
function resolve(root: JsonObject, reference: string): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const name of reference.slice(1).split('/').slice(1)) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isObject(found) && !Array.isArray(found)) return undefined
    found = Object.hasOwn(found, key) ? (found as Record<string, unknown>)[key] : undefined
  }
  return found as Json | undefined
}
