import { hostingFields } from '../block/round.ts'
import { isObject, type Json, parseJson } from '../json.ts'
import { unsafeReason } from '../path/safety.ts'

const isAbsolutePhysicalPath = (field: string, value: unknown) =>
  field === 'physical_path' && typeof value === 'string' && unsafeReason(value) !== undefined

/**
 * A replacer for `JSON.stringify` that removes hosting fields and absolute paths. Use it only for records that the runtime wrote. In the
 * output of a tool, a field such as `key` may have another meaning.
 */
export function omitHostingFields(field: string, value: unknown): unknown {
  return hostingFields.has(field) || isAbsolutePhysicalPath(field, value) ? undefined : value
}

const mayHoldHandles = /"(?:hosted_uri|rn|local_path|physical_path)"/

/**
 * Removes hosting fields from the JSON text that a tool returned. Tools also use field names such as `key` for other purposes. So these
 * fields are removed only from objects with a `hosted_uri` or `rn`.
 */
export function stripHostingHandles(text: string): string {
  const value = mayHoldHandles.test(text) ? parseJson(text) : undefined
  return value === undefined ? text : JSON.stringify(value, dropHandles)
}

function dropHandles(this: unknown, field: string, value: Json): Json | undefined {
  if (field === 'local_path' || field === 'hosted_uri' || isAbsolutePhysicalPath(field, value)) return undefined
  const isHosted = isObject(this) && (this.hosted_uri !== undefined || typeof this.rn === 'string')
  return isHosted && hostingFields.has(field) ? undefined : value
}
