import { hostingFields } from '../block/artifact.ts'
import { isObject, type Json, parseJson } from '../json.ts'
import { unsafeReason } from '../path/safety.ts'

const isAbsolutePhysicalPath = (field: string, value: unknown) =>
  field === 'physical_path' && typeof value === 'string' && unsafeReason(value) !== undefined

/**
 * A replacer for `JSON.stringify`. It removes the fields that say where a file is hosted (`hostingFields`, such as `rn` and `key`), and
 * each `physical_path` that is absolute or unsafe. Use it only for records that the runtime wrote. In the output of a tool, a field such as
 * `key` may have another meaning.
 */
export function omitHostingFields(field: string, value: unknown): unknown {
  return hostingFields.has(field) || isAbsolutePhysicalPath(field, value) ? undefined : value
}

const mayHoldHandles = /"(?:hosted_uri|rn|local_path|physical_path)"/

/**
 * Removes the fields that say where a file is hosted from the JSON text that a tool returned. `hosted_uri`, `local_path` and unsafe
 * physical paths are always removed. The other fields, such as `key`, may have another meaning in the output of a tool. Therefore they are
 * removed only from objects that have a `hosted_uri` or `rn`.
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
