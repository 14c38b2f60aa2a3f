import { createHash } from 'node:crypto'
import { cutAt } from '../core/cut.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { toolPath } from '../core/path/build.ts'
import { normalizeTarget } from '../core/path/physical.ts'
import { scrubBase64 } from '../core/render/text.ts'

/** How much of a parameter the call block shows. */
const limits = { textLength: 2_000, keys: 80, items: 50 }
const previewLength = 600
const contentPrefixLength = 100

/** Tools whose `content` becomes an artifact. The call block shows only the beginning of the content and the path of the artifact. */
const writingTools = /^(react\.(write|patch)|rendering_tools\.write_\w+)$/

/**
 * The parameters as the call block in the timeline shows them. Long texts, lists and objects are shortened. They are not lost, because the
 * journal entry with the model's response contains the complete parameters.
 */
export function displayParams(toolId: string, params: JsonObject, origin: CallOrigin): JsonObject {
  return !writingTools.test(toolId) && isShort(params) ? params : shortenParams(toolId, params, origin)
}

/** Whether `shortenParams` would return an equal value, so that no copy is needed. Most calls have such parameters. */
function isShort(value: Json): boolean {
  if (typeof value === 'string') return value.length <= limits.textLength && scrubBase64(value) === value
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.length <= limits.items && value.every(isShort)
  let keys = 0
  for (const key in value) if (++keys > limits.keys || !isShort((value as JsonObject)[key] as Json)) return false
  return true
}

interface CallOrigin {
  readonly turnId: string
  readonly callId: string
}

/**
 * Shortens the parameters. It always makes a copy, even of short parameters. `displayParams` avoids the copy for short parameters. It is
 * exported because a test compares the results of both functions.
 */
export function shortenParams(toolId: string, params: JsonObject, origin: CallOrigin): JsonObject {
  const isWriter = writingTools.test(toolId)
  const ref = toolPath(origin.turnId, origin.callId, 'call')
  const entries = Object.entries(params)
  const shown = entries.slice(0, limits.keys).map(([name, value]): [string, Json] => {
    if (isWriter && name === 'content' && typeof value === 'string') return [name, shortenContent(value, params.path, origin.turnId)]
    return [name, shortenValue(value, name, ref)]
  })
  const omitted = entries.length - shown.length
  return Object.fromEntries(omitted > 0 ? [...shown, ['...', `${omitted} more keys`]] : shown)
}

/** The first hundred characters of the content, and the path of the whole content. */
function shortenContent(content: string, path: Json | undefined, turnId: string): string {
  if (content.length <= contentPrefixLength) return content
  const target = typeof path === 'string' ? normalizeTarget(path, { currentTurn: turnId }) : undefined
  return `${cutAt(content, contentPrefixLength)}... [see ${target?.ok ? target.logical : 'the written file'}]`
}

function shortenValue(value: Json, field: string, ref: string): Json {
  if (typeof value === 'string') return value.length <= limits.textLength ? scrubBase64(value) : stub(value, field, ref)
  if (Array.isArray(value)) {
    const items = value.slice(0, limits.items).map((item, index) => shortenValue(item, `${field}[${index}]`, ref))
    return value.length > limits.items ? [...items, `... (${value.length - limits.items} more)`] : items
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const shown = entries.slice(0, limits.keys).map(([key, inner]): [string, Json] => [key, shortenValue(inner, `${field}.${key}`, ref)])
  return Object.fromEntries(entries.length > limits.keys ? [...shown, ['...', `${entries.length - limits.keys} more keys`]] : shown)
}

function stub(text: string, field: string, ref: string): Json {
  return {
    preview: scrubBase64(cutAt(text, previewLength)),
    truncated: true,
    text_symbols: text.length,
    size_bytes: Buffer.byteLength(text),
    sha1: createHash('sha1').update(text).digest('hex').slice(0, 12),
    full_value_ref: ref,
    full_value_field: field,
  }
}
