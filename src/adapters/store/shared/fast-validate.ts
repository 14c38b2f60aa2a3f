import type { BlocksAppended, ResponseReceived } from '../../../core/timeline/change.ts'
import { isBlockId, isPlain, isPlainNumber, isPlainObject, isTimestamp } from './plain-json.ts'

/**
 * What is nearly always entered: blocks of words, each with a word or two on where it belongs. One walk tells that they are plain
 * JSON, whole, numbered, of a time, bring no bytes, refer to none and say nothing of hiding. Whatever is not like that is asked rule by rule.
 */
export function isPlainTextAppend(change: unknown): change is BlocksAppended {
  if (!isPlainObject(change)) return false
  for (const key in change) if (key !== 'type' && key !== 'blocks') return false
  const { type, blocks } = change
  if (type !== 'blocks.appended' || !Array.isArray(blocks)) return false
  for (let n = 0; n < blocks.length; n++) if (!isPlainTextBlock(blocks[n])) return false
  return true
}

function isPlainTextBlock(block: unknown): boolean {
  if (!isPlainObject(block)) return false
  let required = 0
  for (const key in block) {
    const value = block[key]
    switch (key) {
      case 'id':
        if (typeof value !== 'string' || !isBlockId(value)) return false
        required += 1
        continue
      case 'ts':
        if (typeof value !== 'string' || !isTimestamp(value)) return false
        required += 1
        continue
      case 'type':
      case 'author':
      case 'turn_id':
        required += 1
        break
      case 'meta':
        if (!isPlainTextMeta(value)) return false
        continue
      case 'base64':
      case 'blob':
        return false
    }
    if (typeof value !== 'string') return false
  }
  return required === 5
}

function isPlainTextMeta(meta: unknown): boolean {
  if (!isPlainObject(meta)) return false
  let saysSomething = false
  for (const key in meta) {
    const value = meta[key]
    switch (key) {
      case 'hidden':
      case 'replacement_text':
      case 'hidden_reason':
      case 'hidden_scope':
      case 'keeps':
      case 'sources_used':
        return false
    }
    if (typeof value !== 'string' && !(key === 'iteration' && isPlainNumber(value))) return false
    saysSomething = true
  }
  return saysSomething
}

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
