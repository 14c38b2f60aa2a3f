import { isObject, type Json, parseJson } from '../json.ts'
import { unsafeReason } from '../path/safety.ts'

/** Seeds 001 and 003: where a file is hosted is nobody's business but the runtime's. */
const hostingFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'managed'])

const isAbsolutePhysicalPath = (field: string, value: unknown) =>
  field === 'physical_path' && typeof value === 'string' && unsafeReason(value) !== undefined

/** For what the runtime itself wrote as JSON: no hosting field has any business there. */
export function omitHostingFields(field: string, value: unknown): unknown {
  return hostingFields.has(field) || isAbsolutePhysicalPath(field, value) ? undefined : value
}

const mayHoldHandles = /"(?:hosted_uri|rn|local_path|physical_path)"/

/**
 * The same JSON text without handles. No tool should have put any there; this is for those that did. A `key` alone may be anything,
 * so it only goes from an object that also says where it is hosted.
 */
export function stripHostingHandles(text: string): string {
  const value = mayHoldHandles.test(text) ? parseJson(text) : undefined
  return value === undefined ? text : JSON.stringify(value, dropHandles)
}

function dropHandles(this: unknown, field: string, value: Json): Json | undefined {
  if (field === 'local_path' || field === 'hosted_uri' || isAbsolutePhysicalPath(field, value)) return undefined
  const hosted = isObject(this) && (this.hosted_uri !== undefined || typeof this.rn === 'string')
  return hosted && hostingFields.has(field) ? undefined : value
}
