import type { Estimator } from '../estimate/estimate.ts'
import { isObject, type Json, parseJson } from '../json.ts'
import { oneLine } from '../render/text.ts'
import { cutText, shortenJson } from './shorten.ts'

const compactLimits = { text: 320, items: 8, keys: 16 }
const MIN_BOUND = 24
const KEY_LINES = 12

/** The first form that fits: as drafted, compact, key lines, and at last only the way back to the content. */
export function fitReplacement(draft: string, path: string, originalTokens: number, maxTokens: number, tokens: Estimator): string {
  const bound = Math.min(Math.max(MIN_BOUND, maxTokens), Math.max(originalTokens + 64, 2 * originalTokens))
  const fits = (text: string) => !tokens.reaches(text, bound + 1)
  if (fits(draft)) return draft
  const value = parseJson(draft)
  const compact = value === undefined ? cutText(draft, compactLimits.text) : JSON.stringify(shortenJson(value, compactLimits).value)
  if (fits(compact)) return compact
  const lines = keyLines(value ?? draft)
  return fits(lines) ? lines : `[TRUNCATED] path=${path}`
}

function keyLines(value: Json): string {
  const lines = isObject(value)
    ? Object.entries(value).map(([key, field]) => `${key}: ${oneLine(typeof field === 'string' ? field : JSON.stringify(field), 60)}`)
    : String(value).split('\n', KEY_LINES)
  return lines
    .slice(0, KEY_LINES)
    .map((line) => oneLine(line, 80))
    .join('\n')
}
