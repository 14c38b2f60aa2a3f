import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../core/json.ts'
import { toolPath } from '../core/path/build.ts'
import { normalizeTarget } from '../core/path/target.ts'
import { scrubBase64 } from '../core/render/scrub.ts'

const longestText = 2_000
const previewText = 600
const mostKeys = 80
const mostItems = 50
const contentPrefix = 100

/** Whose content is kept as an artifact of its own: the call only says where. */
const writers = /^(react\.(write|patch)|rendering_tools\.write_\w+)$/

/**
 * Parameters as the call block shows them. The model's own words are in the response; here only what a reader of the timeline
 * needs, so that nothing large stands in it twice.
 */
export function displayParams(toolId: string, params: JsonObject, place: { readonly turnId: string; readonly callId: string }): JsonObject {
  const isWriter = writers.test(toolId)
  if (!isWriter && isShort(params)) return params
  const entries = Object.entries(params)
  const shown = entries.slice(0, mostKeys).map(([name, value]): [string, Json] => {
    if (isWriter && name === 'content' && typeof value === 'string') return [name, shortContent(value, params.path, place.turnId)]
    return [name, display(value, name, toolPath(place.turnId, place.callId, 'call'))]
  })
  const omitted = entries.length - shown.length
  return Object.fromEntries(omitted > 0 ? [...shown, ['...', `${omitted} more keys`]] : shown)
}

/** Nothing has to be cut: nearly always, so nothing is copied to find out. */
function isShort(value: Json): boolean {
  if (typeof value === 'string') return value.length <= longestText && scrubBase64(value) === value
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.length <= mostItems && value.every(isShort)
  let keys = 0
  for (const key in value) if (++keys > mostKeys || !isShort((value as JsonObject)[key] as Json)) return false
  return true
}

/** Seed 001: the first hundred characters, and where the rest is. */
function shortContent(content: string, path: Json | undefined, turnId: string): string {
  if (content.length <= contentPrefix) return content
  const target = typeof path === 'string' ? normalizeTarget(path, { currentTurn: turnId }) : undefined
  return `${content.slice(0, contentPrefix)}... [see ${target?.ok ? target.logical : 'the written file'}]`
}

function display(value: Json, field: string, ref: string): Json {
  if (typeof value === 'string') return value.length <= longestText ? scrubBase64(value) : stub(value, field, ref)
  if (Array.isArray(value)) {
    const items = value.slice(0, mostItems).map((item, index) => display(item, `${field}[${index}]`, ref))
    return value.length > mostItems ? [...items, `... (${value.length - mostItems} more)`] : items
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const shown = entries.slice(0, mostKeys).map(([key, inner]): [string, Json] => [key, display(inner, `${field}.${key}`, ref)])
  return Object.fromEntries(entries.length > mostKeys ? [...shown, ['...', `${entries.length - mostKeys} more keys`]] : shown)
}

function stub(text: string, field: string, ref: string): Json {
  return {
    preview: scrubBase64(text.slice(0, previewText)),
    truncated: true,
    text_symbols: text.length,
    size_bytes: Buffer.byteLength(text),
    sha1: createHash('sha1').update(text).digest('hex').slice(0, 12),
    full_value_ref: ref,
    full_value_field: field,
  }
}
