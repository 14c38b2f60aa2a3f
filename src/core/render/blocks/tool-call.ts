import type { Block } from '../../block/block.ts'
import { readToolCall, type ToolCall } from '../../block/tool.ts'
import { isObject } from '../../json.ts'
import { normalizeTarget } from '../../path/physical.ts'
import type { Caps } from '../caps.ts'
import { scrubBase64 } from '../redact.ts'
import { preview } from '../shorten.ts'
import { cutAt, oneLine, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'
import { type PlainCall, readPlainCall } from './fast-tool-call.ts'

export function renderToolCode(block: Block, { caps }: RenderContext): readonly Part[] {
  const path = block.path === undefined ? undefined : oneLine(block.path, caps.path)
  const code = preview({ what: 'CODE', text: scrubBase64(block.text ?? ''), limit: caps.code, path }, caps)
  return [textPart(`[AI Agent wrote code]${path === undefined ? '' : ` ${path}`}:\n${code}`)]
}

export function renderToolCall(block: Block, { caps, callId, toolId }: RenderContext): readonly Part[] {
  const plain = readPlainCall(block)
  const call = plain ?? readToolCall(block)
  const params = plain && needsNoCut(plain, caps) ? plain.params : paramsText(block, caps)
  const path = block.path === undefined ? undefined : oneLine(block.path, caps.path)
  const shown = preview({ what: 'TOOL CALL', text: scrubBase64(params), limit: caps.callParams - caps.labels, path }, caps)
  const id = callId === undefined ? 'tc_????' : oneLine(callId, caps.id)
  const tool = call?.tool_id ?? toolId
  const named = tool === undefined ? '' : ` ${oneLine(tool, caps.id)}`
  const where = path === undefined ? '' : `\n[path: ${path}]`
  return [textPart(`[TOOL CALL ${id}].call${named}${where}\nParams:\n${shown}`)]
}

/** Too short for any of its parameters to be cut: each of them takes five characters at least. */
const needsNoCut = ({ params }: PlainCall, { writtenContent, paramText, paramKeys }: Caps) =>
  params.length <= Math.min(writtenContent, paramText, paramKeys * 5)

function paramsText(block: Block, limits: Caps): string {
  const call = readToolCall(block)
  return call ? JSON.stringify(shownParams(call, block, limits), null, 2) : (block.text ?? '')
}

/** What was written is shown where it was written; the call only says where. */
function shownParams({ params, tool_call_id }: ToolCall, block: Block, limits: Caps): unknown {
  const content = params.content
  const own =
    typeof content === 'string' && content.length > limits.writtenContent
      ? { ...params, content: writtenContent(content, params.path, block.turn_id, limits) }
      : params
  return fitsCaps(own, limits) ? own : cutToCaps(own, limits, block.path ?? tool_call_id, '')
}

/** Nothing has to be cut: nearly always, so nothing is copied to find out. */
function fitsCaps(value: unknown, limits: Caps): boolean {
  if (typeof value === 'string') return value.length <= limits.paramText
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.length <= limits.paramItems && value.every((item) => fitsCaps(item, limits))
  let count = 0
  for (const key in value) {
    if (++count > limits.paramKeys || !fitsCaps((value as Readonly<Record<string, unknown>>)[key], limits)) return false
  }
  return true
}

function writtenContent(content: string, path: unknown, turnId: string, limits: Caps): string {
  if (content.length <= limits.paramText && /\bsee (?:fi|tc|ar):/.test(content)) return content
  const target = typeof path === 'string' ? normalizeTarget(path, { currentTurn: turnId }) : undefined
  const see = target?.ok ? target.logical : typeof path === 'string' ? oneLine(path, limits.name) : 'the result'
  return `${cutAt(content, limits.writtenContent)}... [see ${see}]`
}

/** The same value with long strings, lists and objects cut, and each cut said aloud. */
function cutToCaps(value: unknown, limits: Caps, whole: string, field: string): unknown {
  if (typeof value === 'string') {
    if (value.length <= limits.paramText) return value
    const preview = cutAt(value, limits.paramPreview)
    return { preview, truncated: true, text_symbols: value.length, full_value_ref: whole, full_value_field: field }
  }
  const at = (key: string | number) => (field === '' ? `${key}` : `${field}.${key}`)
  if (Array.isArray(value)) {
    const kept = value.slice(0, limits.paramItems).map((item, index) => cutToCaps(item, limits, whole, at(index)))
    return value.length > kept.length ? [...kept, `... (${value.length - kept.length} more)`] : kept
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const kept = entries.slice(0, limits.paramKeys).map(([key, item]) => [key, cutToCaps(item, limits, whole, at(key))] as const)
  const more = entries.length - kept.length
  return Object.fromEntries(more > 0 ? [...kept, ['...', `${more} more keys`] as const] : kept)
}
