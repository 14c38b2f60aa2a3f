import type { BlocksAppended } from '../../../core/timeline/change.ts'
import { isBlockId, isTimestamp } from '../admissible.ts'
import { isPlainNumber, isPlainObject } from './plain-json.ts'

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
