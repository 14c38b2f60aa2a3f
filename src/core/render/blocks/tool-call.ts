import type { Block } from '../../block/block.ts'
import { readToolCall, type ToolCall } from '../../block/round.ts'
import { cutAt } from '../../cut.ts'
import { isObject } from '../../json.ts'
import { normalizeTarget } from '../../path/physical.ts'
import type { Caps } from '../caps.ts'
import { oneLine, preview, scrubBase64, shownPath, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'

/**
 * Renders `react.tool.call`: the tool and its parameters. Long parameters are cut. A call that can not be parsed is shown as plain text.
 */
export function renderToolCall(block: Block, { caps, callId, toolId }: RenderContext): readonly Part[] {
  const call = readToolCall(block)
  const params = call ? JSON.stringify(shownParams(call, block, caps), null, 2) : (block.text ?? '')
  const path = shownPath(block, caps)
  const shown = preview({ what: 'TOOL CALL', text: scrubBase64(params), limit: caps.callParams - caps.labels, path }, caps)
  const id = callId === undefined ? 'tc_????' : oneLine(callId, caps.id)
  const tool = call?.tool_id ?? toolId
  const toolName = tool === undefined ? '' : ` ${oneLine(tool, caps.id)}`
  const pathLine = path === undefined ? '' : `\n[path: ${path}]`
  return [textPart(`[TOOL CALL ${id}].call${toolName}${pathLine}\nParams:\n${shown}`)]
}

/** Renders `react.tool.code`: the program that an exec tool is about to run. */
export function renderToolCode(block: Block, { caps }: RenderContext): readonly Part[] {
  const path = shownPath(block, caps)
  const code = preview({ what: 'CODE', text: scrubBase64(block.text ?? ''), limit: caps.code, path }, caps)
  return [textPart(`[AI Agent wrote code]${path === undefined ? '' : ` ${path}`}:\n${code}`)]
}

/**
 * The parameters of a call as the prompt shows them. Of a long `content`, the prompt shows only the beginning and the path of the file that
 * the call writes. The block of the artifact shows the whole content.
 */
function shownParams({ params, tool_call_id }: ToolCall, block: Block, limits: Caps): unknown {
  const { content } = params
  const isLong = typeof content === 'string' && content.length > limits.writtenContent
  const own = isLong ? { ...params, content: writtenContent(content, params.path, block.turn_id, limits) } : params
  return isWithinCaps(own, limits) ? own : cutToCaps(own, limits, block.path ?? tool_call_id, '')
}

/** Whether `cutToCaps` would return an equal value. This is true for nearly every call. In this case no copy is made. */
function isWithinCaps(value: unknown, limits: Caps): boolean {
  if (typeof value === 'string') return value.length <= limits.paramText
  if (Array.isArray(value)) return value.length <= limits.paramItems && value.every((item) => isWithinCaps(item, limits))
  if (!isObject(value)) return true
  const keys = Object.keys(value)
  return keys.length <= limits.paramKeys && keys.every((key) => isWithinCaps(value[key], limits))
}

function writtenContent(content: string, path: unknown, turnId: string, limits: Caps): string {
  if (content.length <= limits.paramText && /\bsee (?:fi|tc|ar):/.test(content)) return content
  const target = typeof path === 'string' ? normalizeTarget(path, { currentTurn: turnId }) : undefined
  const see = target?.ok ? target.logical : typeof path === 'string' ? oneLine(path, limits.name) : 'the result'
  return `${cutAt(content, limits.writtenContent)}... [see ${see}]`
}

/**
 * A copy of the value in which long strings, lists and objects are cut. Each cut tells how much is missing. `fullPath` is the path at which
 * the agent can read the whole call. `field` is the position of the value in the parameters, such as `rows.3.text`.
 */
function cutToCaps(value: unknown, limits: Caps, fullPath: string, field: string): unknown {
  if (typeof value === 'string') {
    if (value.length <= limits.paramText) return value
    const start = cutAt(value, limits.paramPreview)
    return { preview: start, truncated: true, text_symbols: value.length, full_value_ref: fullPath, full_value_field: field }
  }
  const fieldAt = (key: string | number) => (field === '' ? `${key}` : `${field}.${key}`)
  if (Array.isArray(value)) {
    const kept = value.slice(0, limits.paramItems).map((item, index) => cutToCaps(item, limits, fullPath, fieldAt(index)))
    return value.length > kept.length ? [...kept, `... (${value.length - kept.length} more)`] : kept
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const kept = entries.slice(0, limits.paramKeys).map(([key, item]) => [key, cutToCaps(item, limits, fullPath, fieldAt(key))] as const)
  const more = entries.length - kept.length
  return Object.fromEntries(more > 0 ? [...kept, ['...', `${more} more keys`] as const] : kept)
}
