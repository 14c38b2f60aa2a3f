import type { Json, JsonObject } from '../core/json.ts'
import { scrubBase64 } from '../core/render/text.ts'

/** How much of a parameter the call block shows. */
export interface DisplayLimits {
  readonly textLength: number
  readonly keys: number
  readonly items: number
}

/** Whether `shortenParams` would return an equal value. This is true for most calls, and then no copy is made. */
export function isShort(value: Json, limits: DisplayLimits): boolean {
  if (typeof value === 'string') return value.length <= limits.textLength && scrubBase64(value) === value
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.length <= limits.items && value.every((item) => isShort(item, limits))
  let keys = 0
  for (const key in value) if (++keys > limits.keys || !isShort((value as JsonObject)[key] as Json, limits)) return false
  return true
}
