import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../core/json.ts'
import { toolPath } from '../core/path/build.ts'
import { normalizeTarget } from '../core/path/physical.ts'
import { scrubBase64 } from '../core/render/redact.ts'

const maxTextLength = 2_000
const previewLength = 600
const maxKeys = 80
const maxItems = 50
const contentPrefixLength = 100

/** Whose content is kept as an artifact of its own: the call only says where. */
const writingTools = /^(react\.(write|patch)|rendering_tools\.write_\w+)$/

/**
 * Parameters as the call block shows them. The model's own words are in the response; here only what a reader of the timeline
 * needs, so that nothing large stands in it twice.
 */
export function displayParams(toolId: string, params: JsonObject, place: { readonly turnId: string; readonly callId: string }): JsonObject {
  const isWriter = writingTools.test(toolId)
  if (!isWriter && isShort(params)) return params
  const entries = Object.entries(params)
  const shown = entries.slice(0, maxKeys).map(([name, value]): [string, Json] => {
    if (isWriter && name === 'content' && typeof value === 'string') return [name, shortenContent(value, params.path, place.turnId)]
    return [name, shortenValue(value, name, toolPath(place.turnId, place.callId, 'call'))]
  })
  const omitted = entries.length - shown.length
  return Object.fromEntries(omitted > 0 ? [...shown, ['...', `${omitted} more keys`]] : shown)
}

/** Nothing has to be cut: nearly always, so nothing is copied to find out. */
function isShort(value: Json): boolean {
  if (typeof value === 'string') return value.length <= maxTextLength && scrubBase64(value) === value
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.length <= maxItems && value.every(isShort)
  let keys = 0
  for (const key in value) if (++keys > maxKeys || !isShort((value as JsonObject)[key] as Json)) return false
  return true
}

/** Seed 001: the first hundred characters, and where the rest is. */
function shortenContent(content: string, path: Json | undefined, turnId: string): string {
  if (content.length <= contentPrefixLength) return content
  const target = typeof path === 'string' ? normalizeTarget(path, { currentTurn: turnId }) : undefined
  return `${content.slice(0, contentPrefixLength)}... [see ${target?.ok ? target.logical : 'the written file'}]`
}

function shortenValue(value: Json, field: string, ref: string): Json {
  if (typeof value === 'string') return value.length <= maxTextLength ? scrubBase64(value) : stub(value, field, ref)
  if (Array.isArray(value)) {
    const items = value.slice(0, maxItems).map((item, index) => shortenValue(item, `${field}[${index}]`, ref))
    return value.length > maxItems ? [...items, `... (${value.length - maxItems} more)`] : items
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const shown = entries.slice(0, maxKeys).map(([key, inner]): [string, Json] => [key, shortenValue(inner, `${field}.${key}`, ref)])
  return Object.fromEntries(entries.length > maxKeys ? [...shown, ['...', `${entries.length - maxKeys} more keys`]] : shown)
}

function stub(text: string, field: string, ref: string): Json {
  return {
    preview: scrubBase64(text.slice(0, previewLength)),
    truncated: true,
    text_symbols: text.length,
    size_bytes: Buffer.byteLength(text),
    sha1: createHash('sha1').update(text).digest('hex').slice(0, 12),
    full_value_ref: ref,
    full_value_field: field,
  }
}
