import type { ResponseReceived } from '../../core/timeline/change.ts'
import { isTimestamp } from './admissible.ts'
import { isPlain, isPlainNumber, isPlainObject } from './shared/plain-json.ts'

/**
 * What every round enters besides words: an answer of the model, whole and billed. It is told here that `checkByRules` would let it
 * through as it is. Fields are asked for by name too: one that is hidden from whoever lists them must not get past its rule.
 */
export function isPlainResponse(change: unknown): change is ResponseReceived {
  if (!isPlainObject(change) || change.type !== 'response.received') return false
  for (const key in change) if (!isKnownField(key)) return false
  const { turn_id, ts, iteration, call_id, raw, finish_reason, usage, prompt, retried } = change
  if (typeof turn_id !== 'string' || !turn_id.isWellFormed() || typeof ts !== 'string' || !isTimestamp(ts)) return false
  if (typeof call_id !== 'string' || typeof raw !== 'string' || typeof finish_reason !== 'string' || retried !== undefined) return false
  return Number.isSafeInteger(iteration) && isPlainNumber(iteration) && isPlainUsage(usage) && isPlainObject(prompt) && isPlain(prompt, 1)
}

function isKnownField(key: string): boolean {
  switch (key) {
    case 'type':
    case 'turn_id':
    case 'ts':
    case 'iteration':
    case 'call_id':
    case 'raw':
    case 'finish_reason':
    case 'usage':
    case 'prompt':
      return true
    default:
      return false
  }
}

function isPlainUsage(usage: unknown): boolean {
  if (!isPlainObject(usage)) return false
  for (const key in usage) if (!isPlainNumber(usage[key])) return false
  const { uncached, cache_read, cache_write, cache_write_long, output } = usage
  if (cache_write_long !== undefined && typeof cache_write_long !== 'number') return false
  return typeof uncached === 'number' && typeof cache_read === 'number' && typeof cache_write === 'number' && typeof output === 'number'
}
