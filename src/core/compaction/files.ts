import { type Block, callIdOf } from '../block/block.ts'
import { readDigest } from '../block/digest.ts'
import { readToolCall } from '../block/tool.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { isObject } from '../json.ts'
import { canonicalPath } from '../path/logical.ts'

export type ToolAction = 'read' | 'write' | 'patch' | 'exec' | 'other'

/** What a tool does to files, by its name: `react.write`, `rendering_tools.write_pdf`, `exec_tools.execute_code_python`. */
export function toolAction(toolId: string | undefined): ToolAction {
  const name = toolId?.slice(toolId.lastIndexOf('.') + 1) ?? ''
  if (name === 'read' || name === 'patch') return name
  if (name === 'write' || name.startsWith('write_')) return 'write'
  return name.startsWith('execute_code') ? 'exec' : 'other'
}

/** The logical paths that a `react.read` asked for. Whatever else a model may have written there is not repeated. */
export function readPathsOf(block: Block): readonly string[] {
  const call = readToolCall(block)
  if (!call || toolAction(call.tool_id) !== 'read') return []
  const { paths, items } = call.params
  const asked = [
    ...(Array.isArray(paths) ? paths : [paths]),
    ...(Array.isArray(items) ? items.map((item) => (isObject(item) ? item.path : item)) : []),
  ]
  return asked.flatMap((path) => (typeof path === 'string' ? (canonicalPath(path) ?? []) : []))
}

const LARGE_RESULT = 12_000
const MOST_ROWS = 20

/** Results too large for a summary to hold, and where each can be read again; newest first. */
export function recoverableResults(blocks: readonly Block[], tokens: Estimator): readonly string[] {
  const tools = new Map(blocks.flatMap((block) => (readToolCall(block) ? [[callIdOf(block), readToolCall(block)?.tool_id] as const] : [])))
  return blocks
    .toReversed()
    .filter((block) => block.type === 'react.tool.result' && block.path !== undefined && !readDigest(block))
    .filter((block) => tokens.reaches(block.text ?? '', LARGE_RESULT))
    .slice(0, MOST_ROWS)
    .map((block) => {
      const callId = callIdOf(block)
      const said = [`tool=${tools.get(callId) ?? 'unknown'}`, ...(callId === undefined ? [] : [`call_id=${callId}`])]
      return `- ${block.path} | ${said.join(' | ')} | tokens=${tokens.content(block)}`
    })
}
