import { type Block, readDigest, readToolCall } from '../../core/block/index.ts'
import { readDecision } from '../../core/decision/read.ts'
import { parseResponse } from '../../core/decision/response.ts'
import { toolPath } from '../../core/path/build.ts'
import { hasWholeContent } from '../../core/timeline/artifacts.ts'
import type { Resolution } from '../../core/timeline/resolve.ts'
import type { Call } from '../tool.ts'
import { missingContent, type PathContent } from './find.ts'
import { resolveInHistory } from './lookup.ts'

/** What was said and done: `ar:`, `tc:`, `su:`, in the timeline or in the log of its turn. */
export async function findRecord(path: string, turn: string | undefined, call: Call): Promise<PathContent> {
  const resolved = await resolveInHistory(path, call)
  if (resolved.status === 'view') return { kind: 'text', path, mime: 'text/markdown', text: resolved.text, capped: true }
  if (resolved.status === 'blocks') return recordContent(path, resolved, call)
  if (turn === undefined || (await call.records.byTurn(turn)).length > 0) return missingContent(path)
  return missingContent(path, 'turn_log_missing')
}

/** The real payload, not what is told about it; several notices of one call are read together. */
async function recordContent(path: string, { blocks }: Extract<Resolution, { status: 'blocks' }>, call: Call): Promise<PathContent> {
  const notices = blocks.filter(({ type }) => type === 'react.notice')
  if (notices.length > 1) return textContent(path, notices.at(-1), notices.map(({ text = '' }) => text).join('\n\n'))
  const newest = blocks.findLast((block) => block.text !== undefined && hasWholeContent(block) && !readDigest(block))
  const binary = newest ? undefined : blocks.findLast(({ blob }) => blob !== undefined)
  if (binary?.blob) return { kind: 'binary', path, mime: binary.mime ?? 'application/octet-stream', blob: binary.blob }
  const block = newest ?? blocks.findLast(({ text }) => text !== undefined)
  if (block?.text === undefined) return missingContent(path)
  return textContent(path, block, block.type === 'react.tool.call' ? await fullCallText(block, call) : block.text)
}

const textContent = (path: string, block: Block | undefined, text: string): PathContent => ({
  kind: 'text',
  path,
  mime: block?.mime ?? 'text/markdown',
  text,
  capped: true,
})

const shortenedParams = /"full_value_ref":|\.\.\. \[see |"\.\.\.":"\d+ more keys"|"\.\.\. \(\d+ more\)"/

/** The block shows large parameters by their beginnings; the model's own words are in its response. */
async function fullCallText(block: Block, call: Call): Promise<string> {
  const shown = readToolCall(block)
  if (!shown || !shortenedParams.test(block.text ?? '')) return block.text ?? ''
  const response = await call.records.response?.(shown.tool_call_id)
  if (!response) return block.text ?? ''
  const finishReason = response.finish_reason === 'length' ? 'length' : 'stop'
  const reading = readDecision(parseResponse(response.raw, { finishReason, maxTokens: 0 }), {})
  if (!reading.ok || reading.decision.action !== 'call_tool') return block.text ?? ''
  return JSON.stringify({ tool_id: shown.tool_id, tool_call_id: shown.tool_call_id, params: reading.decision.params, ts: shown.ts })
}

/** Where a block can be seen, for whoever is told that it is visible already. */
export const visiblePathOf = (block: Block): string =>
  block.call_id === undefined ? (block.path ?? block.turn_id) : toolPath(block.turn_id, block.call_id, 'call')
