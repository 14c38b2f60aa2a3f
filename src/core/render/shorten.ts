import { roughTokens } from '../estimate/tokens.ts'
import type { Json } from '../json.ts'
import type { Caps } from './caps.ts'
import { shapeOf } from './shape.ts'
import { cutAt, joinLines } from './text.ts'

export interface PreviewOptions {
  readonly what: 'TOOL RESULT' | 'TOOL CALL' | 'ARTIFACT' | 'CODE' | 'INTERNAL NOTE'
  readonly text: string
  readonly limit: number
  /** Where the whole can be read; undefined when nowhere. */
  readonly path: string | undefined
  readonly json?: Json | undefined
}

/** The text if it is short enough; else its size, its shape, its beginning, and how to get the rest. The block keeps everything. */
export function preview({ what, text, limit, path, json }: PreviewOptions, limits: Caps): string {
  if (text.length <= limit) return text
  const shown = cutAt(text, limit)
  return joinLines(
    `[${what} PREVIEW TRUNCATED]`,
    `full_text_chars: ${text.length}`,
    `full_text_bytes: ${byteLength(text)}`,
    `tokens_estimate: ${roughTokens(text)}`,
    `visible_preview_chars: ${shown.length}`,
    `preview_lines: [1-${countLines(shown)}]/${countLines(text)}`,
    json === undefined ? undefined : `shape:\n${shapeOf(json, limits)}`,
    `preview:\n${shown}`,
    '...[truncated]',
    path === undefined ? undefined : `recovery:\n- react.read(["${path}"]) for the content, whole or by range`,
  )
}

const encoder = new TextEncoder()
const byteLength = (text: string) => encoder.encode(text).length

function countLines(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}
