import { parseBlock } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import type { Change } from '../../core/timeline/change.ts'
import { parseChange } from '../../core/timeline/parse-change.ts'

/** The very value, checked: the parser's own copy would lose the order of keys. */
export function soundChange(value: unknown): Change {
  if (!isOrdinary(value)) parseChange(value)
  return value as Change // just checked
}

/** The two kinds that every round writes, by hand: a schema takes longer over them than writing them does. */
function isOrdinary(value: unknown): boolean {
  if (!isObject(value)) return false
  if (value.type === 'blocks.appended') return Array.isArray(value.blocks) && value.blocks.every(isBlock)
  return value.type === 'response.received' && isResponse(value)
}

function isResponse({ turn_id, ts, iteration, call_id, raw, finish_reason, usage, prompt }: { readonly [key: string]: unknown }): boolean {
  return (
    [turn_id, ts, call_id, raw, finish_reason].every((field) => typeof field === 'string') &&
    Number.isSafeInteger(iteration) &&
    (usage === undefined || (isObject(usage) && buckets.every((bucket) => Number.isFinite(usage[bucket])))) &&
    (prompt === undefined || isObject(prompt))
  )
}

const buckets = ['uncached', 'cache_read', 'cache_write', 'output'] as const

function isBlock(value: unknown): boolean {
  try {
    parseBlock(value)
    return true
  } catch (error) {
    if (error instanceof Failure) return false // the schema will say what is wrong
    throw error
  }
}
